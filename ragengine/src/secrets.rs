//! Reading the secrets that the settings refer to.

use std::env;
use std::fs;

use ragengine_embedding::Secret;
use ragengine_settings::SecretReference;

/// A secret cannot be read. The message names its file or variable and never its value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    /// The file cannot be read.
    #[error("the secret file {path} cannot be read: {reason}")]
    File {
        /// The path.
        path: String,
        /// The error of the system.
        reason: String,
    },
    /// The variable is not set, or is empty.
    #[error("the environment variable {0}, which should contain a secret, is not set")]
    Environment(String),
    /// The file is empty.
    #[error("the secret file {0} is empty")]
    Empty(String),
}

/// Reads a secret and removes trailing white space.
///
/// # Errors
///
/// [`SecretError`] when it is missing or empty.
pub fn read(reference: &SecretReference) -> Result<Secret, SecretError> {
    let value = match reference {
        SecretReference::File(path) => fs::read_to_string(path)
            .map_err(|error| SecretError::File { path: path.display().to_string(), reason: error.to_string() })?,
        SecretReference::Env(name) => env::var(name).map_err(|_| SecretError::Environment(name.clone()))?,
    };
    match (value.trim_end(), reference) {
        ("", SecretReference::File(path)) => Err(SecretError::Empty(path.display().to_string())),
        ("", SecretReference::Env(name)) => Err(SecretError::Environment(name.clone())),
        (value, _) => Ok(Secret::new(value)),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn a_trailing_line_break_is_removed() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        writeln!(file, "sk-1").unwrap();
        assert_eq!(read(&SecretReference::File(file.path().into())).unwrap().expose(), "sk-1");
    }

    #[test]
    fn errors_name_the_file_or_variable() {
        let empty = tempfile::NamedTempFile::new().unwrap();
        assert!(matches!(read(&SecretReference::File(empty.path().into())), Err(SecretError::Empty(_))));
        let message = read(&SecretReference::File("/nowhere/key".into())).unwrap_err().to_string();
        assert!(message.contains("/nowhere/key"), "{message}");
        let message = read(&SecretReference::Env("NO_SUCH_VARIABLE_HERE".into())).unwrap_err().to_string();
        assert!(message.contains("NO_SUCH_VARIABLE_HERE"), "{message}");
    }
}

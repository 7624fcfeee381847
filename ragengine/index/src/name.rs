//! Names of indexes.

/// The name is not valid for an index.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{}' is not a valid index name: use 1 to 63 letters, digits, '.', '_' or '-', with a letter or a digit at \
     both ends",
    .0.chars().take(80).collect::<String>()
)]
pub struct InvalidName(pub String);

/// Checks the name of an index: 1 to 63 letters, digits, `.`, `_` or `-`, with a letter or digit at both ends.
///
/// # Errors
///
/// [`InvalidName`], whose message says what is allowed.
pub fn check_name(name: &str) -> Result<(), InvalidName> {
    let bytes = name.as_bytes();
    let is_edge = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let is_inner = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    if bytes.len() <= 63 && is_edge(bytes.first()) && is_edge(bytes.last()) && bytes.iter().all(is_inner) {
        Ok(())
    } else {
        Err(InvalidName(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::check_name;

    #[test]
    fn names_are_checked() {
        let longest = "x".repeat(63);
        for name in ["a", "A1", "docs.v2_final-3", longest.as_str()] {
            assert_eq!(check_name(name), Ok(()), "{name}");
        }
        let too_long = "x".repeat(64);
        for name in ["", "-a", "a-", ".", "..", "a/b", "../a", "a b", "ä", "a\0", "a\n", "_a", too_long.as_str()] {
            assert!(check_name(name).unwrap_err().to_string().contains("1 to 63"), "{name:?}");
        }
    }
}

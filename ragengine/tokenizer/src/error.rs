//! Errors in a model's files.

use std::path::Path;

/// Why a tokenizer cannot be loaded. Every message names the file.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The folder has no tokenizer.
    #[error(
        "{directory} has no tokenizer.json: give the folder with the served model's files, \
         or the path of its tokenizer.json"
    )]
    Missing {
        /// The folder.
        directory: String,
    },
    /// A file cannot be read.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: String,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// A file is much larger than any real tokenizer file.
    #[error("{path} has {bytes} bytes, more than any tokenizer.json: give the path of the model's tokenizer.json")]
    TooBig {
        /// The file.
        path: String,
        /// Its size in bytes.
        bytes: u64,
    },
    /// The tokenizer is not in the format of the `tokenizers` library.
    #[error("{path} is not a valid tokenizer.json: {message}")]
    Tokenizer {
        /// The file.
        path: String,
        /// The error.
        message: String,
    },
    /// A configuration file beside the tokenizer is invalid.
    #[error("{path} is not a valid configuration file: {message}")]
    Config {
        /// The file.
        path: String,
        /// The error.
        message: String,
    },
    /// The chat template is invalid.
    #[error(
        "the chat template in {path} is invalid: {message}; \
         without a template (a folder with tokenizer.json alone), conversations are counted by their texts"
    )]
    Template {
        /// The file that contains it.
        path: String,
        /// The error.
        message: String,
    },
}

impl Error {
    /// A short name for a metric's label.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Missing { .. } => "missing",
            Self::Io { .. } => "io",
            Self::TooBig { .. } => "too_big",
            Self::Tokenizer { .. } => "tokenizer",
            Self::Config { .. } => "config",
            Self::Template { .. } => "template",
        }
    }

    pub(crate) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.display().to_string();
        move |source| Self::Io { path, source }
    }

    pub(crate) fn tokenizer(path: &Path, message: impl ToString) -> Self {
        Self::Tokenizer { path: path.display().to_string(), message: message.to_string() }
    }

    pub(crate) fn template(path: &Path, error: &minijinja::Error) -> Self {
        let what = error.detail().map_or_else(|| error.kind().to_string(), str::to_owned);
        let message = error.line().map_or_else(|| what.clone(), |line| format!("{what} in line {line}"));
        Self::Template { path: path.display().to_string(), message }
    }

    pub(crate) fn config(path: &Path, message: impl ToString) -> Self {
        Self::Config { path: path.display().to_string(), message: message.to_string() }
    }
}

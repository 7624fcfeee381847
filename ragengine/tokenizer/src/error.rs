//! What can be wrong with a model's files.

use std::path::Path;

/// Why a tokenizer cannot be loaded. Every message names the file.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The folder has no tokenizer.
    #[error(
        "{directory} has no tokenizer.json: give the folder of the served model's files, or the path of its tokenizer.json"
    )]
    Missing {
        /// The folder that was looked in.
        directory: String,
    },
    /// A file cannot be read.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: String,
        /// The system's error.
        source: std::io::Error,
    },
    /// A file is far bigger than any of its kind.
    #[error("{path} has {bytes} bytes, more than any tokenizer.json: give the path of the model's own")]
    TooBig {
        /// The file.
        path: String,
        /// Its size.
        bytes: u64,
    },
    /// The tokenizer is not in the format of the `tokenizers` library.
    #[error("{path} is not a tokenizer.json that can be read: {message}")]
    Tokenizer {
        /// The file.
        path: String,
        /// What is wrong with it.
        message: String,
    },
    /// A configuration file beside the tokenizer is not what it should be.
    #[error("{path} is not the configuration file it should be: {message}")]
    Config {
        /// The file.
        path: String,
        /// What is wrong with it.
        message: String,
    },
    /// The chat template is not one that can be read.
    #[error(
        "the chat template in {path} cannot be read: {message}; without it (a folder with tokenizer.json alone), conversations are counted by their texts"
    )]
    Template {
        /// The file that holds it.
        path: String,
        /// What is wrong with it.
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

//! Where a model's files are: in a directory, or on a hub that has the layout of Hugging Face's.

mod fetch;
mod kept;
mod model_id;

use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

use crate::profile::ConfigFiles;

pub use fetch::{Hub, Progress, locate_or_fetch};

/// Where exporters put the weights.
const WEIGHTS: [&str; 2] = ["onnx/model.onnx", "model.onnx"];
const TOKENIZER: &str = "tokenizer.json";
const CONFIG: &str = "config.json";
const SENTENCE_BERT: &str = "sentence_bert_config.json";
const POOLING: &str = "1_Pooling/config.json";
const MODULES: &str = "modules.json";
const SENTENCE_TRANSFORMERS: &str = "config_sentence_transformers.json";

/// What a model may do without.
const OPTIONAL: [&str; 5] = [CONFIG, SENTENCE_BERT, POOLING, MODULES, SENTENCE_TRANSFORMERS];

/// A configuration file is a few kilobytes; anything bigger is another file.
const MAX_CONFIG_BYTES: u64 = 1 << 20;

/// Why a model's files cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The model's name is neither a directory nor `organisation/name`.
    #[error(
        "the model id {model_id:?} is not usable ({reason}): write organisation/name, or a directory (absolute, or beginning with ./)"
    )]
    ModelId {
        /// What was given.
        model_id: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A required file is missing.
    #[error(
        "{directory} has no {file}: put the model's ONNX file (onnx/model.onnx) and its tokenizer.json there, or set embedding.local.modelID to another directory"
    )]
    Missing {
        /// The directory that was looked in.
        directory: String,
        /// The file's name.
        file: &'static str,
    },
    /// A file cannot be read, or written into the models directory.
    #[error("{path}: {source}")]
    Io {
        /// The file or directory.
        path: String,
        /// The system's error.
        source: std::io::Error,
    },
    /// A configuration file is not what it should be.
    #[error("{path} is not the configuration file it should be: {message}")]
    Config {
        /// The file.
        path: String,
        /// What is wrong with it.
        message: String,
    },
    /// A file is not what was fetched.
    #[error(
        "{path} {what}, other than when the model was fetched: put the file back, or remove {directory} so that the model is fetched again. \
         If the change is meant, remove {kept}"
    )]
    Changed {
        /// The file.
        path: String,
        /// What is wrong with it.
        what: &'static str,
        /// The model's directory.
        directory: String,
        /// Where the hashes are kept.
        kept: String,
    },
    /// The hub's address or revision cannot be used.
    #[error("{0}")]
    Hub(String),
    /// A file cannot be fetched.
    #[error(
        "cannot fetch {url}: {message}; put the model's files into {directory}, or set embedding.local.modelID to a directory"
    )]
    Fetch {
        /// What was asked for.
        url: String,
        /// What happened.
        message: String,
        /// Where the files would be found.
        directory: String,
    },
}

impl Error {
    /// A short name for a metric's label.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::ModelId { .. } => "model_id",
            Self::Missing { .. } => "missing",
            Self::Io { .. } => "io",
            Self::Config { .. } => "config",
            Self::Changed { .. } => "changed",
            Self::Hub(_) => "hub",
            Self::Fetch { .. } => "fetch",
        }
    }

    fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.display().to_string();
        move |source| Self::Io { path, source }
    }
}

/// The files of one model: weights and tokenizer are there, the others may not be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelFiles {
    /// The directory that holds them all.
    pub directory: PathBuf,
    /// The weights and graph, in ONNX.
    pub model: PathBuf,
    /// The tokenizer, in the format of the `tokenizers` library.
    pub tokenizer: PathBuf,
}

impl ModelFiles {
    /// The model's files in `directory`.
    ///
    /// # Errors
    ///
    /// [`Error::Missing`] names the required file that is not there.
    pub fn at(directory: impl Into<PathBuf>) -> Result<Self, Error> {
        let directory = directory.into();
        let missing = |file| Error::Missing { directory: directory.display().to_string(), file };
        let weights = WEIGHTS.map(|name| directory.join(name));
        let model = weights.into_iter().find(|path| path.is_file()).ok_or_else(|| missing(WEIGHTS[0]))?;
        let tokenizer = directory.join(TOKENIZER);
        if !tokenizer.is_file() {
            return Err(missing(TOKENIZER));
        }
        Ok(Self { directory, model, tokenizer })
    }

    /// Reads the configuration files that are there.
    ///
    /// # Errors
    ///
    /// A file is there but unreadable, larger than 1 MiB, or not of its kind.
    pub fn read_configs(&self) -> Result<ConfigFiles, Error> {
        Ok(ConfigFiles {
            transformer: read_json(&self.directory.join(CONFIG))?,
            sentence_bert: read_json(&self.directory.join(SENTENCE_BERT))?,
            pooling: read_json(&self.directory.join(POOLING))?,
            modules: read_json(&self.directory.join(MODULES))?.unwrap_or_default(),
            sentence_transformers: read_json(&self.directory.join(SENTENCE_TRANSFORMERS))?,
        })
    }
}

fn read_json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, Error> {
    let unusable = |message: String| Error::Config { path: path.display().to_string(), message };
    match std::fs::metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::io(path)(error)),
        Ok(metadata) if metadata.len() > MAX_CONFIG_BYTES => {
            return Err(unusable(format!("it has {} bytes", metadata.len())));
        }
        Ok(_) => {}
    }
    let text = std::fs::read(path).map_err(Error::io(path))?;
    serde_json::from_slice(&text).map(Some).map_err(|error| unusable(error.to_string()))
}

#[cfg(test)]
mod tests;

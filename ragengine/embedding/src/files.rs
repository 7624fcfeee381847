//! Locates a model's files: in a directory, or on a hub with the layout of Hugging Face's.

mod fetch;
mod file_hashes;
mod model_id;
mod weights;

use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

use crate::profile::ConfigFiles;

pub use fetch::{Hub, Progress, locate_or_fetch};
pub use weights::Weights;

const TOKENIZER: &str = "tokenizer.json";
const CONFIG: &str = "config.json";
const SENTENCE_BERT: &str = "sentence_bert_config.json";
const POOLING: &str = "1_Pooling/config.json";
const MODULES: &str = "modules.json";
const SENTENCE_TRANSFORMERS: &str = "config_sentence_transformers.json";

/// Optional files of a model.
const OPTIONAL: [&str; 5] = [CONFIG, SENTENCE_BERT, POOLING, MODULES, SENTENCE_TRANSFORMERS];

/// A configuration file has a few kilobytes. A much larger file is a different one.
const MAX_CONFIG_BYTES: u64 = 1 << 20;

/// The setting that errors name, unless [`Error::about`] changes it.
const EMBEDDING_SETTING: &str = "embedding.local.modelID";

/// Why a model's files are not available.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The model's name is neither a directory nor `organisation/name`.
    #[error(
        "the model id {model_id:?} is invalid ({reason}): write organisation/name, or a directory \
         (absolute, or beginning with ./)"
    )]
    ModelId {
        /// The given id.
        model_id: String,
        /// The error.
        reason: &'static str,
    },
    /// The name of the model's ONNX file is invalid.
    #[error(
        "the file {file:?} is invalid ({reason}): set embedding.local.modelFile to the path of an ONNX file in the \
         model's repository or directory, such as onnx/model_int8.onnx"
    )]
    ModelFile {
        /// The given path.
        file: String,
        /// The error.
        reason: &'static str,
    },
    /// A required file is missing.
    #[error(
        "{directory} has no {file}: put the model's ONNX file (onnx/model.onnx) and its tokenizer.json there, \
         or set {setting} to another directory"
    )]
    Missing {
        /// The directory.
        directory: String,
        /// The name of the file.
        file: String,
        /// The setting with the model id.
        setting: &'static str,
    },
    /// A file cannot be read, or written into the models directory.
    #[error("{path}: {source}")]
    Io {
        /// The file or directory.
        path: String,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// A configuration file is invalid.
    #[error("{path} is not a valid configuration file: {message}")]
    Config {
        /// The file.
        path: String,
        /// The error.
        message: String,
    },
    /// A downloaded file has changed.
    #[error(
        "{path} {what} since the model was downloaded: restore the file, or remove {directory} so that \
         the model is downloaded again. If the change is intended, remove {kept}"
    )]
    Changed {
        /// The file.
        path: String,
        /// The error.
        what: &'static str,
        /// The model's directory.
        directory: String,
        /// The path of the file with the hashes.
        kept: String,
    },
    /// The hub's address or revision cannot be used.
    #[error("{0}")]
    Hub(String),
    /// A file cannot be downloaded.
    #[error(
        "cannot download {url}: {message}; put the model's files into {directory}, \
         or set {setting} to a directory"
    )]
    Fetch {
        /// The requested URL.
        url: String,
        /// The error.
        message: String,
        /// The model's directory.
        directory: String,
        /// The setting with the model id.
        setting: &'static str,
    },
}

impl Error {
    /// A short name for metric labels.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::ModelId { .. } => "model_id",
            Self::ModelFile { .. } => "model_file",
            Self::Missing { .. } => "missing",
            Self::Io { .. } => "io",
            Self::Config { .. } => "config",
            Self::Changed { .. } => "changed",
            Self::Hub(_) => "hub",
            Self::Fetch { .. } => "fetch",
        }
    }

    /// The same error about the model of another setting than `embedding.local.modelID`.
    #[must_use]
    pub fn about(mut self, model_setting: &'static str) -> Self {
        if let Self::Missing { setting, .. } | Self::Fetch { setting, .. } = &mut self {
            *setting = model_setting;
        }
        self
    }

    fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.display().to_string();
        move |source| Self::Io { path, source }
    }
}

/// The files of one model. Weights and tokenizer exist, the others are optional.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelFiles {
    /// The directory of all files.
    pub directory: PathBuf,
    /// The weights and graph, in ONNX.
    pub model: PathBuf,
    /// The tokenizer, in the format of the `tokenizers` library.
    pub tokenizer: PathBuf,
}

impl ModelFiles {
    /// Locates the model's files in `directory`, with the usual weights.
    ///
    /// # Errors
    ///
    /// [`Error::Missing`] names a missing required file.
    pub fn at(directory: impl Into<PathBuf>) -> Result<Self, Error> {
        Self::with_weights(directory, &Weights::default())
    }

    /// The same with these weights.
    ///
    /// # Errors
    ///
    /// [`Error::Missing`] names a missing required file.
    pub fn with_weights(directory: impl Into<PathBuf>, weights: &Weights) -> Result<Self, Error> {
        let directory = directory.into();
        let missing = |file: &str| Error::Missing {
            directory: directory.display().to_string(),
            file: file.to_owned(),
            setting: EMBEDDING_SETTING,
        };
        let names = weights.names();
        let model = names.iter().map(|name| directory.join(name)).find(|path| path.is_file());
        let model = model.ok_or_else(|| missing(names[0]))?;
        let tokenizer = directory.join(TOKENIZER);
        if !tokenizer.is_file() {
            return Err(missing(TOKENIZER));
        }
        Ok(Self { directory, model, tokenizer })
    }

    /// Reads the existing configuration files.
    ///
    /// # Errors
    ///
    /// A file is unreadable, larger than 1 MiB or invalid.
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

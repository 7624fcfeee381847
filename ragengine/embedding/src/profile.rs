//! Derives how to use a model from its configuration files, without I/O.
//!
//! The files are those of Sentence Transformers (<https://sbert.net>) and Transformers.

mod config;
mod families;

use std::fmt;

pub use config::{
    ConfigFiles, Module, PoolingConfig, SentenceBertConfig, SentenceTransformersConfig, TransformerConfig,
};

/// The limit if no file names one: that of BERT's training.
const DEFAULT_MAX_TOKENS: usize = 512;

/// How the vectors of a text's tokens are combined into one vector.
///
/// The square-root mean of some models differs from the mean only in length, so that both are equal after
/// normalisation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pooling {
    /// The mean of all tokens, including special tokens.
    Mean,
    /// The first token.
    Cls,
    /// The maximum of each dimension.
    Max,
    /// The last token that is not padding.
    LastToken,
}

impl fmt::Display for Pooling {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Mean => "mean",
            Self::Cls => "cls",
            Self::Max => "max",
            Self::LastToken => "last_token",
        })
    }
}

/// Settings that override the model's files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Overrides {
    /// Maximum text size in tokens, including special tokens. It must not exceed the model's number of positions.
    pub max_tokens: Option<usize>,
    /// Text put before a query. `Some("")` removes the model's prefix.
    pub query_prefix: Option<String>,
    /// Text put before a passage. `Some("")` removes the model's prefix.
    pub passage_prefix: Option<String>,
    /// The pooling method.
    pub pooling: Option<Pooling>,
}

/// How to use a model. Vectors are always normalised, because the index compares only directions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// The pooling method. Unused if the model's graph pools itself.
    pub pooling: Pooling,
    /// Maximum text size in tokens, including prefix and special tokens.
    pub max_tokens: usize,
    /// Text put before a query.
    pub query_prefix: String,
    /// Text put before a passage.
    pub passage_prefix: String,
}

/// Why a model cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The model's pooling method is not implemented.
    #[error("the model's pooling {0} is not supported: the supported ones are mean, cls, max and last token")]
    UnsupportedPooling(String),
    /// The model has a module after the pooling that its ONNX file does not contain.
    #[error(
        "the model has a module {0}, which is not supported: choose a model with only Transformer, Pooling and \
         Normalize"
    )]
    UnsupportedModule(String),
    /// The override exceeds the model's number of positions.
    #[error("max_tokens {max_tokens} exceeds the model's {positions} positions")]
    TooManyTokens {
        /// The requested limit.
        max_tokens: usize,
        /// The model's number of positions.
        positions: usize,
    },
}

impl Error {
    /// A short name for metric labels.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::UnsupportedPooling(_) => "unsupported_pooling",
            Self::UnsupportedModule(_) => "unsupported_module",
            Self::TooManyTokens { .. } => "too_many_tokens",
        }
    }
}

impl Profile {
    /// Derives the profile of the model `model_id`, which is an id of a hub or a directory and is only used to
    /// recognise the model's family.
    ///
    /// # Errors
    ///
    /// The files require an unsupported feature, or an override contradicts them.
    pub fn resolve(model_id: &str, files: &ConfigFiles, overrides: &Overrides) -> Result<Self, Error> {
        check_modules(&files.modules)?;
        let (query_prefix, passage_prefix) = prefixes(model_id, files, overrides);
        Ok(Self {
            pooling: pooling(files.pooling.as_ref(), overrides.pooling)?,
            max_tokens: max_tokens(files, overrides.max_tokens)?,
            query_prefix,
            passage_prefix,
        })
    }
}

fn check_modules(modules: &[Module]) -> Result<(), Error> {
    const SUPPORTED: [&str; 3] = ["Transformer", "Pooling", "Normalize"];
    // Modules are named by Python path: `sentence_transformers.models.Pooling`.
    let unsupported = modules.iter().find(|module| !SUPPORTED.iter().any(|name| module.class_name() == *name));
    match unsupported {
        Some(module) => Err(Error::UnsupportedModule(module.kind.clone())),
        None => Ok(()),
    }
}

fn pooling(config: Option<&PoolingConfig>, chosen: Option<Pooling>) -> Result<Pooling, Error> {
    match (chosen, config) {
        (Some(pooling), _) => Ok(pooling),
        (None, Some(config)) => config.pooling().map_err(Error::UnsupportedPooling),
        (None, None) => Ok(Pooling::Mean),
    }
}

/// Maximum text size in tokens: the chosen one, or that of the files.
pub(crate) fn max_tokens(files: &ConfigFiles, chosen: Option<usize>) -> Result<usize, Error> {
    let positions = files.transformer.as_ref().and_then(TransformerConfig::usable_positions);
    if let (Some(max_tokens), Some(positions)) = (chosen, positions)
        && max_tokens > positions
    {
        return Err(Error::TooManyTokens { max_tokens, positions });
    }
    let trained = files.sentence_bert.as_ref().and_then(|config| config.max_seq_length);
    let default = trained.unwrap_or_else(|| positions.unwrap_or(DEFAULT_MAX_TOKENS).min(DEFAULT_MAX_TOKENS));
    Ok(chosen.unwrap_or(default).min(positions.unwrap_or(usize::MAX)))
}

fn prefixes(model_id: &str, files: &ConfigFiles, overrides: &Overrides) -> (String, String) {
    let family = families::prefixes(model_id);
    let prompts = files.sentence_transformers.as_ref().map(|config| &config.prompts);
    // Newer versions of Sentence Transformers write empty prompts if a model has none, so that empty ones are ignored.
    let prompt = |names: &[&str]| {
        names.iter().filter_map(|name| prompts?.get(*name).cloned().flatten()).find(|prompt| !prompt.is_empty())
    };
    let query = prompt(&["query"]).unwrap_or_else(|| family.query.to_owned());
    let passage = prompt(&["document", "passage"]).unwrap_or_else(|| family.passage.to_owned());
    (overrides.query_prefix.clone().unwrap_or(query), overrides.passage_prefix.clone().unwrap_or(passage))
}

#[cfg(test)]
mod tests;

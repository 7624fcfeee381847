//! How a model wants to be used, from the configuration files beside it: a pure function.
//!
//! The files are those of Sentence Transformers (<https://sbert.net>) and Transformers.

mod config;
mod families;

use std::fmt;

pub use config::{
    ConfigFiles, Module, PoolingConfig, SentenceBertConfig, SentenceTransformersConfig, TransformerConfig,
};

/// The limit when no file names one: what BERT was trained with.
const DEFAULT_MAX_TOKENS: usize = 512;

/// How the vectors of a text's tokens become one vector.
///
/// The square-root mean that some models name differs from the mean only in length: normalised they are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pooling {
    /// The mean over all tokens, special ones included.
    Mean,
    /// The first token.
    Cls,
    /// The largest value of each dimension.
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

/// Settings that win over the model's files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Overrides {
    /// Longest text in tokens, special tokens included; at most the model's number of positions.
    pub max_tokens: Option<usize>,
    /// Put before a query; `Some("")` for none.
    pub query_prefix: Option<String>,
    /// Put before a passage; `Some("")` for none.
    pub passage_prefix: Option<String>,
    /// How to pool.
    pub pooling: Option<Pooling>,
}

/// How to use a model. Vectors are always normalised: the index compares directions only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// How the tokens' vectors become one; not used when the model's graph does it itself.
    pub pooling: Pooling,
    /// Longest text in tokens, prefix and special tokens included.
    pub max_tokens: usize,
    /// Put before a query.
    pub query_prefix: String,
    /// Put before a passage.
    pub passage_prefix: String,
}

/// Why a model cannot be used as its files describe it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The model pools in a way that is not implemented.
    #[error("the model's pooling {0} is not supported: mean, cls, max and last token are")]
    UnsupportedPooling(String),
    /// The model has a part behind the pooling that its ONNX file does not hold.
    #[error("the model has a module {0}, which is not supported: choose a model of Transformer, Pooling and Normalize")]
    UnsupportedModule(String),
    /// The override is beyond what the model has positions for.
    #[error("max_tokens {max_tokens} is more than the {positions} tokens that the model has positions for")]
    TooManyTokens {
        /// What was asked for.
        max_tokens: usize,
        /// What the model has.
        positions: usize,
    },
}

impl Error {
    /// A short name for a metric's label.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::UnsupportedPooling(_) => "unsupported_pooling",
            Self::UnsupportedModule(_) => "unsupported_module",
            Self::TooManyTokens { .. } => "too_many_tokens",
        }
    }
}

impl Profile {
    /// The profile of the model `model_id` (an id of a hub or a directory; used only to recognise a family).
    ///
    /// # Errors
    ///
    /// The files ask for something that is not supported, or an override contradicts them.
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
    // Named by Python path: `sentence_transformers.models.Pooling`.
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

fn max_tokens(files: &ConfigFiles, chosen: Option<usize>) -> Result<usize, Error> {
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
    // Newer versions of Sentence Transformers write empty prompts when a model has none: those say nothing.
    let prompt = |names: &[&str]| {
        names.iter().filter_map(|name| prompts?.get(*name).cloned().flatten()).find(|prompt| !prompt.is_empty())
    };
    let query = prompt(&["query"]).unwrap_or_else(|| family.query.to_owned());
    let passage = prompt(&["document", "passage"]).unwrap_or_else(|| family.passage.to_owned());
    (overrides.query_prefix.clone().unwrap_or(query), overrides.passage_prefix.clone().unwrap_or(passage))
}

#[cfg(test)]
mod tests;

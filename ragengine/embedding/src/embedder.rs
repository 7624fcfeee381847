//! Where vectors come from: one of two.

use crate::local::Service;
use crate::remote::Endpoint;
use crate::{Error, Purpose, Vector};

/// A model in this process, or an endpoint.
#[expect(clippy::large_enum_variant, reason = "there is one of it in a process")]
pub enum Embedder {
    /// In this process.
    Local(Service),
    /// Over HTTP.
    Remote(Endpoint),
}

impl Embedder {
    /// The vectors of the texts, in their order: finite, of length 1, all of one width.
    ///
    /// # Errors
    ///
    /// Those of [`Service::embed`] and [`Endpoint::embed`].
    pub async fn embed(&self, purpose: Purpose, texts: Vec<String>) -> Result<Vec<Vector>, Error> {
        match self {
            Self::Local(service) => service.embed(purpose, texts).await,
            Self::Remote(endpoint) => endpoint.embed(purpose, texts).await,
        }
    }

    /// Tokens of a text alone: exact for a local model, an estimate on the safe side for an endpoint.
    pub fn count_tokens(&self, text: &str) -> usize {
        match self {
            Self::Local(service) => service.model().count_tokens(text),
            Self::Remote(endpoint) => endpoint.count_tokens(text),
        }
    }

    /// Tokens that are put around every text.
    pub fn special_tokens(&self) -> usize {
        match self {
            Self::Local(service) => service.model().special_tokens(),
            Self::Remote(_) => 0,
        }
    }

    /// Longest text in tokens, prefix and special tokens included.
    pub fn max_tokens(&self) -> usize {
        match self {
            Self::Local(service) => service.model().max_tokens(),
            Self::Remote(endpoint) => endpoint.max_tokens(),
        }
    }

    /// Longest passage as [`Self::count_tokens`] counts it: the limit less prefix and special tokens.
    pub fn max_passage_tokens(&self) -> usize {
        match self {
            Self::Local(service) => service.model().max_passage_tokens(),
            Self::Remote(endpoint) => endpoint.max_passage_tokens(),
        }
    }

    /// Longest query as [`Self::count_tokens`] counts it: the limit less prefix and special tokens. A longer one is cut, and so is one of more
    /// than [`crate::MAX_BYTES_PER_QUERY_TOKEN`] bytes for each of these tokens.
    pub fn max_query_tokens(&self) -> usize {
        match self {
            Self::Local(service) => service.model().max_query_tokens(),
            Self::Remote(endpoint) => endpoint.max_query_tokens(),
        }
    }

    /// Width of the vectors; an endpoint's is unknown until it has answered once ([`Endpoint::probe`]).
    pub fn dimensions(&self) -> Option<usize> {
        match self {
            Self::Local(service) => Some(service.model().dimensions()),
            Self::Remote(endpoint) => endpoint.dimensions(),
        }
    }

    /// What must be equal for two vectors to be comparable.
    pub fn fingerprint(&self) -> &str {
        match self {
            Self::Local(service) => service.model().fingerprint(),
            Self::Remote(endpoint) => endpoint.fingerprint(),
        }
    }

    /// The model's name.
    pub fn model_id(&self) -> &str {
        match self {
            Self::Local(service) => service.model().model_id(),
            Self::Remote(endpoint) => endpoint.model_id(),
        }
    }
}

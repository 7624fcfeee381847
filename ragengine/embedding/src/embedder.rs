//! One type for both sources of embeddings.

use crate::local::Service;
use crate::remote::Endpoint;
use crate::{Error, Purpose, Vector};

/// A local model or a remote endpoint.
#[expect(clippy::large_enum_variant, reason = "a process has only one")]
pub enum Embedder {
    /// A model in this process.
    Local(Service),
    /// An endpoint over HTTP.
    Remote(Endpoint),
}

impl Embedder {
    /// Embeds texts. The vectors are in the order of the texts, finite, of length 1, and have equal dimensions.
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

    /// Counts the tokens of a text, without prefix and special tokens: exact for a local model, an upper estimate for
    /// an endpoint.
    pub fn count_tokens(&self, text: &str) -> usize {
        match self {
            Self::Local(service) => service.model().count_tokens(text),
            Self::Remote(endpoint) => endpoint.count_tokens(text),
        }
    }

    /// Number of special tokens added to every text.
    pub fn special_tokens(&self) -> usize {
        match self {
            Self::Local(service) => service.model().special_tokens(),
            Self::Remote(_) => 0,
        }
    }

    /// Maximum text size in tokens, including prefix and special tokens.
    pub fn max_tokens(&self) -> usize {
        match self {
            Self::Local(service) => service.model().max_tokens(),
            Self::Remote(endpoint) => endpoint.max_tokens(),
        }
    }

    /// Maximum passage size without prefix and special tokens, as counted by [`Self::count_tokens`].
    pub fn max_passage_tokens(&self) -> usize {
        match self {
            Self::Local(service) => service.model().max_passage_tokens(),
            Self::Remote(endpoint) => endpoint.max_passage_tokens(),
        }
    }

    /// Maximum query size without prefix and special tokens, as counted by [`Self::count_tokens`]. A longer query is
    /// truncated, and so is one with more than [`crate::MAX_BYTES_PER_QUERY_TOKEN`] bytes for each of these tokens.
    pub fn max_query_tokens(&self) -> usize {
        match self {
            Self::Local(service) => service.model().max_query_tokens(),
            Self::Remote(endpoint) => endpoint.max_query_tokens(),
        }
    }

    /// Number of dimensions of the vectors. None for an endpoint that has not replied yet (see [`Endpoint::probe`]).
    pub fn dimensions(&self) -> Option<usize> {
        match self {
            Self::Local(service) => Some(service.model().dimensions()),
            Self::Remote(endpoint) => endpoint.dimensions(),
        }
    }

    /// Vectors are comparable only if their fingerprints are equal.
    pub fn fingerprint(&self) -> &str {
        match self {
            Self::Local(service) => service.model().fingerprint(),
            Self::Remote(endpoint) => endpoint.fingerprint(),
        }
    }

    /// The name of the model.
    pub fn model_id(&self) -> &str {
        match self {
            Self::Local(service) => service.model().model_id(),
            Self::Remote(endpoint) => endpoint.model_id(),
        }
    }
}

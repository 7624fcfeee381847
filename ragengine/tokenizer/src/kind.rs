//! The counting methods and their ids.

use sha2::{Digest, Sha256};

/// How tokens are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// With the served model's own tokenizer and chat template.
    Served,
    /// With the encoding that OpenAI uses for the model.
    Tiktoken,
    /// With an estimate of three bytes per token.
    Estimate,
}

impl Kind {
    /// A short name for logs and metric labels.
    pub fn label(self) -> &'static str {
        match self {
            Self::Served => "served",
            Self::Tiktoken => "tiktoken",
            Self::Estimate => "estimate",
        }
    }
}

/// The first eight bytes of a SHA-256 of the method and the data that determines its counts.
pub(crate) fn id_of(kind: Kind, content: &[u8]) -> u64 {
    let digest = Sha256::new().chain_update(kind.label()).chain_update([0]).chain_update(content).finalize();
    digest.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes))
}

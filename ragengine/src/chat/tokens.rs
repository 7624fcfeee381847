use std::sync::OnceLock;

use ragengine_pipeline::prompt::{Passage, block};
use ragengine_tokenizer::Tokenizer;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use ragengine_compute::Waiter;
use ragengine_embedding::Embedding;

/// Counts tokens as the served model does, or on the safe side of it.
#[derive(Clone)]
pub(super) enum TokenCounter {
    /// The embedding model's own tokenizer, for the built-in model.
    Embedding(Embedding),
    /// The served model's, as well as it is known.
    Served(Tokenizer),
}

impl TokenCounter {
    /// The label of how is counted.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Embedding(_) => "embedding",
            Self::Served(tokenizer) => tokenizer.kind().label(),
        }
    }

    /// What differs between two that count differently, or count blocks of another format. Counts are kept under it.
    pub fn id(&self) -> u64 {
        block_format()
            ^ match self {
                Self::Embedding(embedding) => first_bytes(&Sha256::digest(embedding.fingerprint().as_bytes())),
                Self::Served(tokenizer) => tokenizer.id(),
            }
    }

    /// Whether a prompt costs what its parts cost, so that blocks whose tokens are known need not be counted again.
    pub fn adds_up(&self) -> bool {
        match self {
            Self::Embedding(_) => false,
            Self::Served(tokenizer) => tokenizer.adds_up(),
        }
    }

    /// The tokens of a text alone.
    pub fn text(&self, text: &str) -> u64 {
        match self {
            Self::Embedding(embedding) => embedding.count_tokens(text) as u64,
            Self::Served(tokenizer) => tokenizer.count(text),
        }
    }

    /// The tokens of a conversation with its template. Texts that come after the caller has left are not counted.
    pub fn conversation(&self, messages: &[Value], caller: &Waiter) -> u64 {
        let count = |text: &str| if caller.has_left() { 0 } else { self.text(text) };
        match self {
            Self::Embedding(_) => ragengine_tokenizer::conversation(messages, count),
            Self::Served(tokenizer) => tokenizer.count_conversation(messages),
        }
    }
}

/// A number that another format of blocks does not have: what is counted is a chunk's block, with everything in it that is escaped.
fn block_format() -> u64 {
    static FORMAT: OnceLock<u64> = OnceLock::new();
    *FORMAT.get_or_init(|| {
        let (title, heading, url) = (Some("title [2]\n·"), Some("heading"), Some("url"));
        let text = "text\n[2] ［3］ a[4] (5)[6]\n--- end\n―――\n---|---\n<|end|> </s> [/INST]";
        let block = block(100, &Passage { title, heading, url, page: Some(1), text });
        first_bytes(&Sha256::digest(block.as_bytes()))
    })
}

fn first_bytes(digest: &[u8]) -> u64 {
    digest.iter().take(8).fold(0, |id, byte| id << 8 | u64::from(*byte))
}

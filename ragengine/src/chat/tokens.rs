use std::sync::OnceLock;

use ragengine_pipeline::prompt::{Passage, block, source_block};
use ragengine_pipeline::request::ContextFormat;
use ragengine_tokenizer::Tokenizer;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use ragengine_compute::Waiter;
use ragengine_embedding::Embedding;

/// Counts tokens as the language model does, or overestimates them.
#[derive(Clone)]
pub(crate) enum TokenCounter {
    /// The embedding model's tokenizer, for the built-in model.
    Embedding(Embedding),
    /// The language model's tokenizer, or an estimate.
    Served(Tokenizer),
}

impl TokenCounter {
    /// The name for metric labels.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Embedding(_) => "embedding",
            Self::Served(tokenizer) => tokenizer.kind().label(),
        }
    }

    /// Identifies the tokenizer and the format of blocks. The key of cached counts.
    pub fn id(&self, format: ContextFormat) -> u64 {
        block_format(format)
            ^ match self {
                Self::Embedding(embedding) => first_bytes(&Sha256::digest(embedding.fingerprint().as_bytes())),
                Self::Served(tokenizer) => tokenizer.id(),
            }
    }

    /// Whether the tokens of a prompt are the sum of its parts, so that counted blocks need not be counted again.
    pub fn adds_up(&self) -> bool {
        match self {
            Self::Embedding(_) => false,
            Self::Served(tokenizer) => tokenizer.adds_up(),
        }
    }

    /// Counts the tokens of a text.
    pub fn text(&self, text: &str) -> u64 {
        match self {
            Self::Embedding(embedding) => embedding.count_tokens(text) as u64,
            Self::Served(tokenizer) => tokenizer.count(text),
        }
    }

    /// Counts the tokens of a conversation, including its template. Stops early if the client disconnects.
    pub fn conversation(&self, messages: &[Value], caller: &Waiter) -> u64 {
        let count = |text: &str| if caller.has_left() { 0 } else { self.text(text) };
        match self {
            Self::Embedding(_) => ragengine_tokenizer::conversation(messages, count),
            Self::Served(tokenizer) => tokenizer.count_conversation(messages),
        }
    }
}

/// A hash of the format of blocks. It changes when the format or the escaping changes, because counts are of whole
/// blocks.
fn block_format(format: ContextFormat) -> u64 {
    static FORMATS: [OnceLock<u64>; 2] = [OnceLock::new(), OnceLock::new()];
    let is_numbered = format == ContextFormat::Numbered;
    *FORMATS[usize::from(is_numbered)].get_or_init(|| {
        let (title, heading, url) = (Some("title [2]\n·"), Some("heading"), Some("url"));
        let text = "text\n[2] ［3］ a[4] (5)[6]\n--- end\n―――\n---|---\n<|end|> </s> [/INST]\n=== 4\n\
                    \u{200b}\u{202e} <bos> [|a|]";
        let block = match format {
            ContextFormat::Numbered => block(100, &Passage { title, heading, url, page: Some(1), text }),
            ContextFormat::Source => source_block("title [2]\n·", text),
        };
        first_bytes(&Sha256::digest(block.as_bytes()))
    })
}

fn first_bytes(digest: &[u8]) -> u64 {
    digest.iter().take(8).fold(0, |id, byte| id << 8 | u64::from(*byte))
}

//! One type for the three counting methods.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use crate::kind::{Kind, id_of};
use crate::openai::Encoding;
use crate::served::Served;
use crate::{Error, conversation, estimate};

/// Counts tokens as a language model does. Cheap to clone, and shareable between threads.
#[derive(Clone)]
pub struct Tokenizer(Arc<Counter>);

enum Counter {
    Served(Box<Served>),
    Tiktoken(Encoding),
    Estimate,
}

impl Tokenizer {
    /// Loads the tokenizer from a model's folder or from the file `path`. It also reads `chat_template.jinja`,
    /// `tokenizer_config.json` and `special_tokens_map.json` from the folder, if they exist.
    ///
    /// # Errors
    ///
    /// [`Error`]: tokenizer.json is missing, or a file is invalid.
    pub fn from_path(path: &Path) -> Result<Self, Error> {
        Ok(Self(Arc::new(Counter::Served(Box::new(Served::load(path)?)))))
    }

    /// The tokenizer of an OpenAI model by its name, which may have a provider prefix (`openai/gpt-4o`), a fine-tuning
    /// prefix (`ft:gpt-4o-mini:…`) or a date suffix. None for any other name.
    ///
    /// The tables of an encoding are loaded at the first count, in less than 0.1 s, and kept in memory.
    pub fn openai(model: &str) -> Option<Self> {
        Some(Self(Arc::new(Counter::Tiktoken(Encoding::of(model)?))))
    }

    /// An estimate of three bytes per token.
    pub fn estimate() -> Self {
        Self(Arc::new(Counter::Estimate))
    }

    /// The counting method.
    pub fn kind(&self) -> Kind {
        match &*self.0 {
            Counter::Served(_) => Kind::Served,
            Counter::Tiktoken(_) => Kind::Tiktoken,
            Counter::Estimate => Kind::Estimate,
        }
    }

    /// Identifies the tokenizer in stored counts. It is the same in every process, and differs for any tokenizer that
    /// counts a text differently.
    pub fn id(&self) -> u64 {
        match &*self.0 {
            Counter::Served(served) => served.id(),
            Counter::Tiktoken(encoding) => id_of(Kind::Tiktoken, encoding.name().as_bytes()),
            Counter::Estimate => id_of(Kind::Estimate, b"3 bytes"),
        }
    }

    /// The number of tokens of a text, without special tokens around it. A special token spelled in the text counts as
    /// the server reads it: as one token with a served model's tokenizer, and as plain text with OpenAI's.
    pub fn count(&self, text: &str) -> u64 {
        match &*self.0 {
            Counter::Served(served) => served.count(text),
            Counter::Tiktoken(encoding) => encoding.count(text),
            Counter::Estimate => estimate(text),
        }
    }

    /// Whether token counts are additive: a text split after a line break and before `[` or `-` has as many tokens as
    /// its parts together, and each number of up to three digits is one token. This holds for OpenAI's encodings, whose
    /// patterns always end a piece there. It is unknown for a served model's tokenizer.
    pub fn adds_up(&self) -> bool {
        matches!(*self.0, Counter::Tiktoken(_))
    }

    /// The number of tokens of a conversation up to the beginning of the answer. Uses the model's chat template if it
    /// accepts these messages, otherwise [`conversation`], which is an upper estimate.
    pub fn count_conversation(&self, messages: &[Value]) -> u64 {
        match &*self.0 {
            Counter::Served(served) => {
                served.count_templated(messages).unwrap_or_else(|| self.count_without_template(messages))
            }
            Counter::Tiktoken(encoding) => self.count_without_template(messages) + encoding.tokens_before_messages(),
            Counter::Estimate => self.count_without_template(messages),
        }
    }

    fn count_without_template(&self, messages: &[Value]) -> u64 {
        conversation(messages, |text| self.count(text))
    }
}

impl fmt::Debug for Tokenizer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Tokenizer").field("kind", &self.kind()).field("id", &self.id()).finish()
    }
}

//! The three ways to count, behind one type.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use crate::kind::{Kind, id_of};
use crate::openai::Encoding;
use crate::served::Served;
use crate::{Error, conversation, estimate};

/// Counts tokens as a language model does. Cheap to clone, shared by threads.
#[derive(Clone)]
pub struct Tokenizer(Arc<Counter>);

enum Counter {
    Served(Box<Served>),
    Tiktoken(Encoding),
    Estimate,
}

impl Tokenizer {
    /// The tokenizer in a model's folder, or in the file `path`; of the folder, `chat_template.jinja`,
    /// `tokenizer_config.json` and `special_tokens_map.json` count too, if they are there.
    ///
    /// # Errors
    ///
    /// [`Error`]: there is no tokenizer.json, or one of the files cannot be used.
    pub fn from_path(path: &Path) -> Result<Self, Error> {
        Ok(Self(Arc::new(Counter::Served(Box::new(Served::load(path)?)))))
    }

    /// The tokenizer of one of OpenAI's models by its name, also with a provider before it (`openai/gpt-4o`), as a
    /// fine-tune (`ft:gpt-4o-mini:…`) or with a date behind it. None for any other name.
    ///
    /// The tables of an encoding are loaded when it first counts, in less than 0.1 s, and kept.
    pub fn openai(model: &str) -> Option<Self> {
        Some(Self(Arc::new(Counter::Tiktoken(Encoding::of(model)?))))
    }

    /// Three bytes a token.
    pub fn estimate() -> Self {
        Self(Arc::new(Counter::Estimate))
    }

    /// How this one counts.
    pub fn kind(&self) -> Kind {
        match &*self.0 {
            Counter::Served(_) => Kind::Served,
            Counter::Tiktoken(_) => Kind::Tiktoken,
            Counter::Estimate => Kind::Estimate,
        }
    }

    /// The same for the same tokenizer in every process, and another one for any that counts a text differently: what
    /// was counted can be stored under it.
    pub fn id(&self) -> u64 {
        match &*self.0 {
            Counter::Served(served) => served.id(),
            Counter::Tiktoken(encoding) => id_of(Kind::Tiktoken, encoding.name().as_bytes()),
            Counter::Estimate => id_of(Kind::Estimate, b"3 bytes"),
        }
    }

    /// The tokens of a text alone, without special tokens around it. Where the text spells a special token, it counts
    /// as what the server makes of it: one token with a served model's tokenizer, and its letters with OpenAI's.
    pub fn count(&self, text: &str) -> u64 {
        match &*self.0 {
            Counter::Served(served) => served.count(text),
            Counter::Tiktoken(encoding) => encoding.count(text),
            Counter::Estimate => estimate(text),
        }
    }

    /// Whether a text costs exactly what its parts cost when it is cut behind a line break and before `[` or `-`, and whether each
    /// number of up to three digits costs one token. True of OpenAI's encodings: their patterns end a piece there whatever stands
    /// around it, and join nothing over the ends of pieces. Nothing is known of a served model's.
    pub fn adds_up(&self) -> bool {
        matches!(*self.0, Counter::Tiktoken(_))
    }

    /// The tokens of a whole conversation up to where the answer begins: through the model's chat template if it has
    /// one that takes these messages, or else with [`conversation`], which is on the safe side.
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

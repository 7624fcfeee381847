//! The served model's own tokenizer, and its chat template.

mod files;

use std::path::Path;

use serde_json::Value;

use crate::Error;
use crate::kind::{Kind, id_of};
use crate::template::ChatTemplate;
use files::ModelFiles;

/// A tokenizer without limits of its own.
pub(crate) struct Served {
    tokenizer: tokenizers::Tokenizer,
    template: Option<ChatTemplate>,
    id: u64,
}

impl Served {
    /// Reads a model's folder, or a tokenizer.json and what is beside it.
    ///
    /// # Errors
    ///
    /// [`Error`]: there is no tokenizer.json, or one of the files cannot be used.
    pub fn load(path: &Path) -> Result<Self, Error> {
        let files = ModelFiles::at(path)?;
        let bytes = files::read(&files.tokenizer)?;
        let config = files.read_config()?;
        let template = match files.read_template(&config)? {
            Some(found) => {
                let compiled = ChatTemplate::compile(&found.source, &config.special_tokens);
                Some(compiled.map_err(|error| Error::template(&found.path, &error))?)
            }
            None => None,
        };
        Ok(Self { tokenizer: parse(&files.tokenizer, &bytes)?, template, id: id_of(Kind::Served, &bytes) })
    }

    /// See [`Tokenizer::id`](crate::Tokenizer::id).
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The tokens of a text as it is.
    pub fn count(&self, text: &str) -> u64 {
        // A text that cannot be tokenised has at most one token per byte.
        self.tokenizer.encode_fast(text, false).map_or(text.len(), |encoding| encoding.len()) as u64
    }

    /// The tokens of what the chat template makes of a conversation. The template writes the special tokens itself. None
    /// without a template, or when it refuses these messages.
    pub fn count_templated(&self, messages: &[Value]) -> Option<u64> {
        let prompt = self.template.as_ref()?.render(messages).ok()?;
        Some(self.count(&prompt))
    }
}

fn parse(path: &Path, bytes: &[u8]) -> Result<tokenizers::Tokenizer, Error> {
    let unusable = |error: tokenizers::Error| Error::tokenizer(path, error);
    let mut tokenizer = tokenizers::Tokenizer::from_bytes(bytes).map_err(unusable)?;
    // Some files fix both; what is counted here must be whole.
    tokenizer.with_truncation(None).map_err(unusable)?;
    tokenizer.with_padding(None);
    Ok(tokenizer)
}

//! The tokenizer and the chat template of the served model, from its files.

mod files;

use std::path::Path;

use serde_json::Value;

use crate::Error;
use crate::kind::{Kind, id_of};
use crate::template::ChatTemplate;
use files::ModelFiles;

/// A tokenizer without truncation and padding, and the model's chat template.
pub(crate) struct Served {
    tokenizer: tokenizers::Tokenizer,
    template: Option<ChatTemplate>,
    id: u64,
}

impl Served {
    /// Reads a model's folder, or a tokenizer.json and the files beside it.
    ///
    /// # Errors
    ///
    /// [`Error`]: tokenizer.json is missing, or a file is invalid.
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

    /// The number of tokens of a text, without special tokens around it.
    pub fn count(&self, text: &str) -> u64 {
        // If tokenising fails, the length in bytes is an upper bound.
        self.tokenizer.encode_fast(text, false).map_or(text.len(), |encoding| encoding.len()) as u64
    }

    /// The number of tokens of a conversation rendered with the chat template, which writes the special tokens. None if
    /// there is no template, or if it refuses these messages.
    pub fn count_templated(&self, messages: &[Value]) -> Option<u64> {
        let prompt = self.template.as_ref()?.render(messages).ok()?;
        Some(self.count(&prompt))
    }
}

fn parse(path: &Path, bytes: &[u8]) -> Result<tokenizers::Tokenizer, Error> {
    let unusable = |error: tokenizers::Error| Error::tokenizer(path, error);
    let mut tokenizer = tokenizers::Tokenizer::from_bytes(bytes).map_err(unusable)?;
    // Truncation and padding would falsify the counts.
    tokenizer.with_truncation(None).map_err(unusable)?;
    tokenizer.with_padding(None);
    Ok(tokenizer)
}

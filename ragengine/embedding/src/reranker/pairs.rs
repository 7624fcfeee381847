//! Converts pairs of a question and a passage to token ids.

use std::path::Path;

use tokenizers::{Encoding, Tokenizer, TruncationDirection};

use super::Error;
use crate::{MAX_BYTES_PER_QUERY_TOKEN, tokenizer};

/// A tokenizer with the model's limit.
pub(super) struct PairEncoder {
    tokenizer: Tokenizer,
    special_tokens: usize,
    max_tokens: usize,
}

impl PairEncoder {
    /// Loads `tokenizer.json`.
    ///
    /// # Errors
    ///
    /// The file is not a tokenizer, or half of `max_tokens` has no room for a passage and the special tokens.
    pub fn load(path: &Path, max_tokens: usize) -> Result<Self, Error> {
        let unusable = |message: String| Error::Load { path: path.display().to_string(), message };
        let tokenizer = tokenizer::load(path).map_err(unusable)?;
        let nothing = tokenizer.encode_fast(("", ""), true);
        let special_tokens = nothing.map_err(|error| unusable(error.to_string()))?.len();
        let encoder = Self { tokenizer, special_tokens, max_tokens };
        let passage = max_tokens.saturating_sub(encoder.max_question_tokens() + special_tokens);
        if encoder.max_question_tokens() == 0 || passage == 0 {
            return Err(Error::Configuration(format!(
                "max_tokens {max_tokens} leaves no room for a question and a passage: special tokens take \
                 {special_tokens}"
            )));
        }
        Ok(encoder)
    }

    /// Maximum number of tokens of a pair, including special tokens.
    pub fn max_tokens(&self) -> usize {
        self.max_tokens
    }

    /// A longer question would leave too little of the passage.
    fn max_question_tokens(&self) -> usize {
        self.max_tokens / 2
    }

    /// Encodes a pair with the special tokens of the tokenizer's template. The end of a long passage is left out.
    pub fn encode(&self, question: &str, passage: &str) -> Result<Encoding, Error> {
        let question = self.start(question, self.max_question_tokens())?;
        let room = self.max_tokens - self.special_tokens - question.len();
        let mut passage = self.start(passage, room)?;
        // Only a template sets the types.
        passage.set_type_ids(vec![1; passage.len()]);
        self.tokenizer.post_process(question, Some(passage), true).map_err(cannot_tokenise)
    }

    /// The first tokens of a text, without special tokens.
    fn start(&self, text: &str, max_tokens: usize) -> Result<Encoding, Error> {
        let end = text.floor_char_boundary(self.max_tokens.saturating_mul(MAX_BYTES_PER_QUERY_TOKEN));
        let mut encoding = self.tokenizer.encode_fast(&text[..end], false).map_err(cannot_tokenise)?;
        encoding.truncate(max_tokens, 0, TruncationDirection::Right);
        // The template would be applied to the rest, too.
        drop(encoding.take_overflowing());
        Ok(encoding)
    }
}

fn cannot_tokenise(error: tokenizers::Error) -> Error {
    Error::Inference(format!("a text cannot be tokenised: {error}"))
}

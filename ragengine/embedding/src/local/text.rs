//! Converts texts to token ids.

use std::path::Path;

use tokenizers::{Encoding, Tokenizer, TruncationDirection};

use crate::{Error, Purpose, tokenizer};

/// A query is truncated to this many bytes for each token of the model's limit before it is tokenised. Few tokens are
/// longer than ten bytes, and tokenising megabytes would block a thread.
pub const MAX_BYTES_PER_QUERY_TOKEN: usize = 64;

/// A tokenizer without truncation and padding, with the model's limit and prefixes.
pub(super) struct TextEncoder {
    tokenizer: Tokenizer,
    special_tokens: usize,
    max_tokens: usize,
    max_query_tokens: usize,
    query_prefix: String,
    passage_prefix: String,
}

impl TextEncoder {
    /// Loads `tokenizer.json`.
    ///
    /// # Errors
    ///
    /// The file is not a tokenizer, or prefix and special tokens leave no room within `max_tokens`.
    pub fn load(path: &Path, max_tokens: usize, query_prefix: &str, passage_prefix: &str) -> Result<Self, Error> {
        let unusable = |message: String| Error::Load { path: path.display().to_string(), message };
        let tokenizer = tokenizer::load(path).map_err(unusable)?;
        let nothing = tokenizer.encode_fast("", true);
        let special_tokens = nothing.map_err(|error| unusable(error.to_string()))?.len();
        let mut encoder = Self {
            tokenizer,
            special_tokens,
            max_tokens,
            max_query_tokens: 0,
            query_prefix: query_prefix.to_owned(),
            passage_prefix: passage_prefix.to_owned(),
        };
        encoder.check_room()?;
        // A prefix and a text together may have one token more than separately.
        let prefix = encoder.count(query_prefix);
        let room = max_tokens - special_tokens - prefix;
        encoder.max_query_tokens = if prefix == 0 { room } else { room.saturating_sub(1).max(1) };
        Ok(encoder)
    }

    fn check_room(&self) -> Result<(), Error> {
        let prefix = self.count(&self.query_prefix).max(self.count(&self.passage_prefix));
        if self.max_tokens > prefix + self.special_tokens {
            return Ok(());
        }
        Err(Error::Configuration(format!(
            "max_tokens {} leaves no room for a text: prefix and special tokens take {}",
            self.max_tokens,
            prefix + self.special_tokens,
        )))
    }

    /// Counts the tokens of a text, without prefix and special tokens.
    pub fn count(&self, text: &str) -> usize {
        // If tokenising fails, the length in bytes is an upper bound. Embedding the text returns the error.
        self.tokenizer.encode_fast(text, false).map_or(text.len(), |encoding| encoding.len())
    }

    /// Number of special tokens added to every text.
    pub fn special_tokens(&self) -> usize {
        self.special_tokens
    }

    /// Maximum number of tokens of a passage, without prefix and special tokens.
    pub fn max_passage_tokens(&self) -> usize {
        self.max_tokens - self.special_tokens - self.count(&self.passage_prefix)
    }

    /// Maximum number of tokens of a query, without prefix and special tokens.
    pub fn max_query_tokens(&self) -> usize {
        self.max_query_tokens
    }

    /// Encodes a text with prefix and special tokens. A query is truncated at the limit.
    pub fn encode(&self, purpose: Purpose, text: &str, position: usize) -> Result<Encoding, Error> {
        let text = match purpose {
            Purpose::Query => {
                let end = text.floor_char_boundary(self.max_tokens.saturating_mul(MAX_BYTES_PER_QUERY_TOKEN));
                format!("{}{}", self.query_prefix, &text[..end])
            }
            Purpose::Passage => format!("{}{text}", self.passage_prefix),
        };
        let encoding = self.tokenizer.encode_fast(text.as_str(), true).map_err(cannot_tokenise)?;
        match purpose {
            _ if encoding.len() <= self.max_tokens => Ok(encoding),
            Purpose::Query => self.encode_start(&text),
            Purpose::Passage => Err(Error::TooLong { position, tokens: encoding.len(), max_tokens: self.max_tokens }),
        }
    }

    /// Encodes the first tokens of a text with special tokens around them, `max_tokens` in total.
    fn encode_start(&self, text: &str) -> Result<Encoding, Error> {
        let mut encoding = self.tokenizer.encode_fast(text, false).map_err(cannot_tokenise)?;
        encoding.truncate(self.max_tokens - self.special_tokens, 0, TruncationDirection::Right);
        self.tokenizer.post_process(encoding, None, true).map_err(cannot_tokenise)
    }
}

fn cannot_tokenise(error: tokenizers::Error) -> Error {
    Error::Inference(format!("a text cannot be tokenised: {error}"))
}

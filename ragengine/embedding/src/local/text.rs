//! From a text to the token ids that a model reads.

use std::path::Path;

use tokenizers::{Encoding, Tokenizer, TruncationDirection};

use crate::{Error, Purpose};

/// Of a query, no more is looked at than this for each token that the model reads: few tokens are longer than ten bytes,
/// and tokenising megabytes would hold up a thread.
pub const MAX_BYTES_PER_QUERY_TOKEN: usize = 64;

/// A tokenizer without limits of its own, and the model's limit.
pub(super) struct TextEncoder {
    tokenizer: Tokenizer,
    special_tokens: usize,
    max_tokens: usize,
    max_query_tokens: usize,
    query_prefix: String,
    passage_prefix: String,
}

impl TextEncoder {
    /// Reads `tokenizer.json`.
    ///
    /// # Errors
    ///
    /// The file is not a tokenizer's, or prefix and special tokens alone fill `max_tokens`.
    pub fn load(path: &Path, max_tokens: usize, query_prefix: &str, passage_prefix: &str) -> Result<Self, Error> {
        let unusable = |error: tokenizers::Error| Error::Load {
            path: path.display().to_string(),
            message: format!("it is not a tokenizer.json that can be read: {error}"),
        };
        let mut tokenizer = Tokenizer::from_file(path).map_err(unusable)?;
        // Many files fix both, all-MiniLM's at 128 tokens; the model's own limit is elsewhere.
        tokenizer.with_truncation(None).map_err(unusable)?;
        tokenizer.with_padding(None);
        let special_tokens = tokenizer.encode_fast("", true).map_err(unusable)?.len();
        let mut encoder = Self {
            tokenizer,
            special_tokens,
            max_tokens,
            max_query_tokens: 0,
            query_prefix: query_prefix.to_owned(),
            passage_prefix: passage_prefix.to_owned(),
        };
        encoder.check_room()?;
        // A prefix and a text together may come to one token more than by themselves.
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

    /// Tokens of a text alone, without special tokens.
    pub fn count(&self, text: &str) -> usize {
        // A text that cannot be tokenised has at most one token per byte; embedding it gives the error.
        self.tokenizer.encode_fast(text, false).map_or(text.len(), |encoding| encoding.len())
    }

    /// Tokens that are put around every text.
    pub fn special_tokens(&self) -> usize {
        self.special_tokens
    }

    /// Tokens that are left for a passage beside its prefix and the special tokens.
    pub fn max_passage_tokens(&self) -> usize {
        self.max_tokens - self.special_tokens - self.count(&self.passage_prefix)
    }

    /// Tokens that are left for a query beside its prefix and the special tokens.
    pub fn max_query_tokens(&self) -> usize {
        self.max_query_tokens
    }

    /// The encoding with prefix and special tokens; a query is cut at the limit.
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

    /// The first tokens of a text, with the special tokens around them: `max_tokens` in all.
    fn encode_start(&self, text: &str) -> Result<Encoding, Error> {
        let mut encoding = self.tokenizer.encode_fast(text, false).map_err(cannot_tokenise)?;
        encoding.truncate(self.max_tokens - self.special_tokens, 0, TruncationDirection::Right);
        self.tokenizer.post_process(encoding, None, true).map_err(cannot_tokenise)
    }
}

fn cannot_tokenise(error: tokenizers::Error) -> Error {
    Error::Inference(format!("a text cannot be tokenised: {error}"))
}

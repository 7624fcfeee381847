//! Splits a document into chunks that fit the embedding model. Text is never truncated.
//!
//! ```text
//! outline ── finds the places where a text may be cut, by its split type: prose, markdown, code
//! fill ── fills chunks with as much text as fits, up to the best place
//! tokens ── counts the tokens of each piece of the text once
//! work ── counts steps, and stops when the time is up or the client has disconnected
//! ```
//!
//! The cost of a document is proportional to its size, whatever its content: each step looks at a place a bounded
//! number of times.

mod boundary;
mod code;
mod fill;
mod headings;
mod markdown;
mod outline;
mod prose;
mod split_type;
mod tokens;
mod work;

use fill::{Room, Verdict, fill};
use outline::{Outline, Section};
pub use split_type::{Language, SplitType};
use tokens::Counter;
pub use work::{Stopped, Work};

/// The most tokens of a chunk's headings: one in so many of the chunk's tokens.
const HEADING_PART: usize = 4;

/// The most tokens by which a heading and a text together exceed the sum of their counts: the line break between them.
const JOINT_TOKENS: usize = 2;

/// A document cannot be split.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChunkingError {
    /// The limits leave no room for text.
    #[error(
        "chunks of {max_tokens} tokens with an overlap of {overlap_tokens} are not possible: chunking.maxTokens is too \
         small"
    )]
    Sizes {
        /// The limit of a chunk, in tokens.
        max_tokens: usize,
        /// The overlap, in tokens.
        overlap_tokens: usize,
    },
    /// The language's parser is not available.
    #[error("code in {language} cannot be parsed: {reason}")]
    Language {
        /// The language.
        language: &'static str,
        /// The parser's error.
        reason: String,
    },
    /// Splitting was stopped early.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

/// The sizes of chunks, in tokens of the embedding model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// The most tokens of a chunk, including its heading.
    pub max_tokens: usize,
    /// Tokens that are repeated at the start of the next chunk.
    pub overlap_tokens: usize,
    /// The longest text that the model accepts.
    pub max_passage_tokens: usize,
}

impl Sizes {
    /// Resolves the sizes of a new index. Defaults: 512 tokens or the model's limit, and an overlap of 10%.
    pub fn resolve(max_tokens: Option<u32>, overlap_tokens: Option<u32>, max_passage_tokens: usize) -> Self {
        let max_tokens = max_tokens.map_or(512, |tokens| tokens as usize).min(max_passage_tokens).max(1);
        let overlap_tokens = overlap_tokens.map_or(max_tokens / 10, |tokens| tokens as usize).min(max_tokens / 2);
        Self { max_tokens, overlap_tokens, max_passage_tokens }
    }

    /// The sizes when so many tokens stand before each chunk. A chunk stays as long as the settings say, as far as the
    /// model's limit allows.
    #[must_use]
    pub fn beside(self, tokens: usize) -> Self {
        let taken = if tokens == 0 { 0 } else { tokens + JOINT_TOKENS };
        Self { max_passage_tokens: self.max_passage_tokens.saturating_sub(taken).max(1), ..self }
    }
}

/// A chunk of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// The headings above it, joined by ` > `.
    pub heading: Option<String>,
    /// Its page, from 1, if the document is split by pages.
    pub page: Option<u32>,
    /// Its text, as in the document.
    pub text: String,
}

impl Chunk {
    /// The text that is embedded: the heading, then the text.
    pub fn embedded_text(&self) -> String {
        match &self.heading {
            Some(heading) => format!("{heading}\n{}", self.text),
            None => self.text.clone(),
        }
    }
}

/// Splits a text: prose at sentences, Markdown at its structure, code at its syntax, pages at page breaks.
///
/// A chunk of Markdown never spans a heading, because a chunk about two topics is a poor match for both. A chunk of a
/// page never spans pages, because it has one page number.
///
/// # Errors
///
/// [`ChunkingError`] if the limits leave no room, or the work was stopped.
pub fn cut(
    text: &str,
    split: SplitType,
    sizes: Sizes,
    count_tokens: &dyn Fn(&str) -> usize,
    work: &Work,
) -> Result<Vec<Chunk>, ChunkingError> {
    let counter = Counter { count: count_tokens, work };
    let limit = sizes.max_tokens.min(sizes.max_passage_tokens);
    let outline = Outline::of(text, split, limit / HEADING_PART, counter)?;
    let room = room(limit, &outline, sizes)?;
    let mut chunks = Vec::new();
    for section in &outline.sections {
        let whole = &text[section.range.clone()];
        let boundaries = (section.range.start, outline.boundaries.as_slice());
        fill(whole, boundaries, (room, outline.trim), counter, |piece| {
            let (chunk, verdict) = judged(piece, section, limit, room, counter)?;
            if verdict == Verdict::Fits {
                chunks.push(chunk);
            }
            Ok(verdict)
        })?;
    }
    Ok(chunks)
}

/// The tokens of a chunk that remain for text beside the longest path of headings.
fn room(limit: usize, outline: &Outline, sizes: Sizes) -> Result<Room, ChunkingError> {
    let capacity = limit.saturating_sub(match outline.longest_heading_tokens {
        0 => 0,
        tokens => tokens + JOINT_TOKENS,
    });
    if capacity == 0 {
        let Sizes { max_tokens, overlap_tokens, .. } = sizes;
        return Err(ChunkingError::Sizes { max_tokens, overlap_tokens });
    }
    Ok(Room { capacity, overlap: sizes.overlap_tokens.min(capacity - 1) })
}

/// Makes a chunk of a piece and checks that the model accepts all of it. If the heading makes it too long, the heading
/// is dropped: together they may have more tokens than the sum of their parts.
fn judged(
    piece: &str,
    section: &Section,
    limit: usize,
    room: Room,
    counter: Counter<'_>,
) -> Result<(Chunk, Verdict), Stopped> {
    let chunk = Chunk { heading: section.heading.clone(), page: section.page, text: piece.to_owned() };
    let tokens = counter.tokens(&chunk.embedded_text())?;
    if tokens <= limit {
        return Ok((chunk, Verdict::Fits));
    }
    let alone = if chunk.heading.is_some() { counter.tokens(piece)? } else { tokens };
    let is_one_letter = piece.chars().nth(1).is_none();
    match alone.checked_sub(room.capacity).filter(|excess| *excess > 0 && !is_one_letter) {
        Some(excess) => Ok((chunk, Verdict::TooLong(excess))),
        None => Ok((Chunk { heading: None, ..chunk }, Verdict::Fits)),
    }
}

#[cfg(test)]
mod tests;

//! Cutting a document into chunks that the embedding model reads whole: nothing is ever truncated.
//!
//! ```text
//! outline ── where a text may be cut, by how it is to be split: prose, markdown, code
//! fill ── chunks with as much of it as fits, up to the best place
//! tokens ── each piece of the text is counted once
//! work ── every step is counted, and ends when the document has had its time or its sender has left
//! ```
//!
//! What a document costs grows as its size does, whatever stands in it: no step looks at the same place more than a bounded number of times.

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

/// The part of a chunk that its heading may take.
const HEADING_PART: usize = 4;

/// Tokens by which a heading and a text together may exceed the sum of their own counts: the line break between them.
const JOINT_TOKENS: usize = 2;

/// A document that cannot be cut.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChunkingError {
    /// The sizes leave no room.
    #[error(
        "chunks of {max_tokens} tokens with {overlap_tokens} repeated cannot be made: chunking.maxTokens is too small"
    )]
    Sizes {
        /// The longest chunk.
        max_tokens: usize,
        /// The overlap.
        overlap_tokens: usize,
    },
    /// The parser of this language does not run here.
    #[error("code in {language} cannot be parsed: {reason}")]
    Language {
        /// The language.
        language: &'static str,
        /// What its parser says.
        reason: String,
    },
    /// It was not cut to its end.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

/// How long chunks are, in tokens of the embedding model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// The longest chunk, its heading included.
    pub max_tokens: usize,
    /// How much of a chunk is repeated at the start of the next.
    pub overlap_tokens: usize,
    /// The longest text that the model reads.
    pub max_passage_tokens: usize,
}

impl Sizes {
    /// The sizes of a new index: what was asked for, else 512 tokens or the model's limit, and a tenth of that as overlap.
    pub fn resolve(max_tokens: Option<u32>, overlap_tokens: Option<u32>, max_passage_tokens: usize) -> Self {
        let max_tokens = max_tokens.map_or(512, |tokens| tokens as usize).min(max_passage_tokens).max(1);
        let overlap_tokens = overlap_tokens.map_or(max_tokens / 10, |tokens| tokens as usize).min(max_tokens / 2);
        Self { max_tokens, overlap_tokens, max_passage_tokens }
    }
}

/// A piece of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// The headings above it.
    pub heading: Option<String>,
    /// The page that it stands on, from 1, when the document is cut by pages.
    pub page: Option<u32>,
    /// Its text, as it stands in the document.
    pub text: String,
}

impl Chunk {
    /// What is embedded: the heading, then the text.
    pub fn embedded_text(&self) -> String {
        match &self.heading {
            Some(heading) => format!("{heading}\n{}", self.text),
            None => self.text.clone(),
        }
    }
}

/// Cuts a text: prose at its sentences, Markdown at its structure, code at its syntax, pages where they end.
///
/// A chunk of Markdown never reaches over a heading: a chunk about two things is near to neither. One of a page never reaches over its
/// end: it could not say where it stands.
///
/// # Errors
///
/// [`ChunkingError`] when the sizes leave no room, or the work ends before it is done.
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

/// What is left beside the longest path of headings.
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

/// The chunk of a piece, which fits when the model reads the whole of it. It loses its heading where that makes it too long: both together can
/// come to more than the sum of their parts.
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

//! Cutting a document into chunks that the embedding model reads whole: nothing is ever truncated.

mod headings;
mod split_type;

use headings::Headings;
pub use split_type::{Language, SplitType};
use text_splitter::{ChunkConfig, ChunkSizer, CodeSplitter, MarkdownSplitter, TextSplitter};

/// The part of a chunk that its heading may take.
const HEADING_PART: usize = 4;

/// Tokens by which a heading and a text together may exceed the sum of their own counts: the line break between them.
const JOINT_TOKENS: usize = 2;

/// What stands between pages.
const FORM_FEED: char = '\u{C}';

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
/// [`ChunkingError`] when the sizes leave no room.
pub fn chunk(
    text: &str,
    split: SplitType,
    sizes: Sizes,
    count_tokens: &impl Fn(&str) -> usize,
) -> Result<Vec<Chunk>, ChunkingError> {
    match split {
        SplitType::Pages => cut_pages(text, sizes, count_tokens),
        SplitType::Prose | SplitType::Markdown | SplitType::Code(_) => cut_sections(text, split, sizes, count_tokens),
    }
}

/// Empty pages have no chunks and are counted.
fn cut_pages(text: &str, sizes: Sizes, count_tokens: &impl Fn(&str) -> usize) -> Result<Vec<Chunk>, ChunkingError> {
    let mut chunks = Vec::new();
    for (page, text) in (1..).zip(text.split(FORM_FEED)) {
        let on_page = cut_sections(text, SplitType::Prose, sizes, count_tokens)?;
        chunks.extend(on_page.into_iter().map(|chunk| Chunk { page: Some(page), ..chunk }));
    }
    Ok(chunks)
}

fn cut_sections(
    text: &str,
    split: SplitType,
    sizes: Sizes,
    count_tokens: &impl Fn(&str) -> usize,
) -> Result<Vec<Chunk>, ChunkingError> {
    let limit = sizes.max_tokens.min(sizes.max_passage_tokens);
    let headings = match split {
        SplitType::Markdown => Headings::of(text, limit / HEADING_PART, count_tokens),
        SplitType::Prose | SplitType::Code(_) | SplitType::Pages => Headings::default(),
    };
    let capacity = limit.saturating_sub(match headings.longest_tokens() {
        0 => 0,
        tokens => tokens + JOINT_TOKENS,
    });
    let mut chunks = Vec::new();
    for section in headings.sections(text) {
        for piece in split_text(&text[section.clone()], split, sizes, capacity, count_tokens)? {
            let heading = headings.above(section.end.saturating_sub(1));
            let chunk = Chunk { heading, page: None, text: piece.to_owned() };
            let fits = count_tokens(&chunk.embedded_text()) <= limit;
            // The heading and the text together can come to more than the sum of their parts.
            chunks.push(if fits { chunk } else { Chunk { heading: None, ..chunk } });
        }
    }
    Ok(chunks)
}

fn split_text<'a>(
    text: &'a str,
    split: SplitType,
    sizes: Sizes,
    capacity: usize,
    count_tokens: &impl Fn(&str) -> usize,
) -> Result<Vec<&'a str>, ChunkingError> {
    let too_small = || ChunkingError::Sizes { max_tokens: sizes.max_tokens, overlap_tokens: sizes.overlap_tokens };
    if capacity == 0 {
        return Err(too_small());
    }
    let config = ChunkConfig::new(capacity)
        .with_sizer(Counter(count_tokens))
        .with_overlap(sizes.overlap_tokens.min(capacity - 1))
        .map_err(|_| too_small())?;
    Ok(match split {
        SplitType::Prose | SplitType::Pages => TextSplitter::new(config).chunks(text).collect(),
        SplitType::Markdown => MarkdownSplitter::new(config).chunks(text).collect(),
        SplitType::Code(language) => CodeSplitter::new(split_type::grammar(language), config)
            .map_err(|error| ChunkingError::Language { language: language.name(), reason: error.to_string() })?
            .chunks(text)
            .collect(),
    })
}

struct Counter<'a, F>(&'a F);

impl<F: Fn(&str) -> usize> ChunkSizer for Counter<'_, F> {
    fn size(&self, chunk: &str) -> usize {
        (self.0)(chunk)
    }
}

#[cfg(test)]
mod tests;

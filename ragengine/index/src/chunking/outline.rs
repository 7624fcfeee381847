use std::ops::Range;

use super::boundary::Boundary;
use super::fill::Trim;
use super::headings::Headings;
use super::tokens::Counter;
use super::work::{Stopped, Work};
use super::{ChunkingError, SplitType, code, markdown, prose};

/// The character between pages.
const FORM_FEED: char = '\u{C}';

/// The most sections whose length is not limited.
const FREE_SECTIONS: usize = 256;
/// The least mean length of more sections, in bytes. If they are shorter, the text is cut as prose, because every
/// section is at least one chunk and repeats its heading.
const MIN_SECTION_BYTES: usize = 32;

/// The places at which a text may be cut.
pub(super) struct Outline {
    /// The parts of the text that no chunk spans, in order.
    pub sections: Vec<Section>,
    /// Places within the sections, in order.
    pub boundaries: Vec<Boundary>,
    /// The number of tokens of the longest path of headings.
    pub longest_heading_tokens: usize,
    /// The white space that is removed from chunks.
    pub trim: Trim,
}

/// A part of a text.
pub(super) struct Section {
    /// Its range in bytes.
    pub range: Range<usize>,
    /// The headings above it.
    pub heading: Option<String>,
    /// Its page, from 1.
    pub page: Option<u32>,
}

impl Section {
    fn bare(range: Range<usize>) -> Self {
        Self { range, heading: None, page: None }
    }
}

impl Outline {
    /// Parses a text by its split type. A path of headings has at most `max_heading_tokens`.
    pub fn of(
        text: &str,
        split: SplitType,
        max_heading_tokens: usize,
        counter: Counter<'_>,
    ) -> Result<Self, ChunkingError> {
        let outline = match split {
            SplitType::Prose => None,
            SplitType::Pages => Self::pages(text, counter.work)?,
            SplitType::Markdown => Self::markdown(text, max_heading_tokens, counter)?,
            SplitType::Code(language) => {
                let boundaries = code::boundaries(text, language, counter.work)?;
                Some(Self { trim: Trim::ButIndentation, ..Self::whole(text, boundaries) })
            }
        };
        match outline {
            Some(outline) => Ok(outline),
            None => Ok(Self::whole(text, prose::line_breaks(text, counter.work)?)),
        }
    }

    fn whole(text: &str, boundaries: Vec<Boundary>) -> Self {
        let sections = vec![Section::bare(0..text.len())];
        Self { sections, boundaries, longest_heading_tokens: 0, trim: Trim::All }
    }

    /// Splits a text by pages. None if there are too many for its length. Empty pages count but have no section.
    fn pages(text: &str, work: &Work) -> Result<Option<Self>, Stopped> {
        let mut sections = Vec::new();
        let mut start = 0;
        for (page, of_page) in (1..).zip(text.split(FORM_FEED)) {
            work.step(of_page.len() + 1)?;
            let range = start..start + of_page.len();
            start = range.end + FORM_FEED.len_utf8();
            if !of_page.trim().is_empty() {
                sections.push(Section { page: Some(page), ..Section::bare(range) });
            }
        }
        if are_too_many(sections.len(), text) {
            return Ok(None);
        }
        Ok(Some(Self { sections, ..Self::whole(text, prose::line_breaks(text, work)?) }))
    }

    /// Splits a text by headings. None if it is nested too deeply, or there are too many headings for its length.
    fn markdown(text: &str, max_heading_tokens: usize, counter: Counter<'_>) -> Result<Option<Self>, Stopped> {
        if markdown::is_too_deep(text, counter.work)? {
            return Ok(None);
        }
        let markdown::Reading { headings, boundaries } = markdown::read(text, counter.work)?;
        let headings = Headings::of(headings, max_heading_tokens, counter)?;
        let ranges = headings.sections(text, counter.work)?;
        if are_too_many(ranges.len(), text) {
            return Ok(None);
        }
        let section = |range: Range<usize>| {
            let heading = headings.above(range.end.saturating_sub(1));
            Section { heading, ..Section::bare(range) }
        };
        let sections = ranges.into_iter().map(section).collect();
        let longest_heading_tokens = headings.longest_tokens();
        Ok(Some(Self { sections, boundaries, longest_heading_tokens, trim: Trim::ButIndentation }))
    }
}

fn are_too_many(sections: usize, text: &str) -> bool {
    sections > FREE_SECTIONS && text.len() / sections < MIN_SECTION_BYTES
}

use std::ops::Range;

use super::boundary::Boundary;
use super::fill::Trim;
use super::headings::Headings;
use super::tokens::Counter;
use super::work::{Stopped, Work};
use super::{ChunkingError, SplitType, code, markdown, prose};

/// What stands between pages.
const FORM_FEED: char = '\u{C}';

/// So many sections may be as short as they like.
const FREE_SECTIONS: usize = 256;
/// Of more, each has so many bytes in the mean, or the text is cut as prose: every section is a chunk at least, and repeats its heading.
const MIN_SECTION_BYTES: usize = 32;

/// Where a text may be cut.
pub(super) struct Outline {
    /// Parts that no chunk reaches over, in their order.
    pub sections: Vec<Section>,
    /// Places within them, in their order.
    pub boundaries: Vec<Boundary>,
    /// The tokens of the longest path of headings.
    pub longest_heading_tokens: usize,
    /// What is left out at the ends of chunks.
    pub trim: Trim,
}

/// A part of a text.
pub(super) struct Section {
    /// Where.
    pub range: Range<usize>,
    /// The headings above it.
    pub heading: Option<String>,
    /// The page that it is.
    pub page: Option<u32>,
}

impl Section {
    fn bare(range: Range<usize>) -> Self {
        Self { range, heading: None, page: None }
    }
}

impl Outline {
    /// Reads a text as what it is said to be. A path of headings has at most so many tokens.
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

    /// None when there are too many for the text. Empty pages have no chunks and are counted.
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

    /// None when it is nested too deeply, or there are too many headings for the text.
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

//! Finds places to cut Markdown, in one pass.

use std::ops::Range;

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::boundary::{Boundary, SENTENCE, in_order};
use super::headings::Heading;
use super::work::{Stopped, Work};

/// The depths down to which elements are distinguished. Deeper elements are cut as one.
const INLINE_DEPTHS: u8 = 8;
const BLOCK_DEPTHS: u8 = 16;

const SOFT_BREAK: u8 = SENTENCE + 1;
const INLINE: u8 = SOFT_BREAK + INLINE_DEPTHS;
const BLOCK: u8 = INLINE + BLOCK_DEPTHS;
const RULE: u8 = BLOCK + 1;
const LOWEST_HEADING: u8 = RULE + 1;

/// The structure of a Markdown text.
#[derive(Debug, Default)]
pub(super) struct Reading {
    /// The headings, in order.
    pub headings: Vec<Heading>,
    /// The boundaries, in order.
    pub boundaries: Vec<Boundary>,
}

/// The most quotes and list items that a line may start. The parser compares each later line with all of them.
const MAX_MARKS: usize = 64;

/// Whether quotes and lists are nested too deeply to be parsed as Markdown.
pub(super) fn is_too_deep(text: &str, work: &Work) -> Result<bool, Stopped> {
    work.step(text.len())?;
    Ok(text.lines().any(|line| marks(line) > MAX_MARKS))
}

/// How many quotes and list items a line starts.
fn marks(line: &str) -> usize {
    let (mut rest, mut marks) = (line.trim_start(), 0);
    loop {
        let unnumbered = rest.trim_start_matches(|letter: char| letter.is_ascii_digit());
        let after = match unnumbered.as_bytes() {
            [b'>', ..] => &unnumbered[1..],
            [b'-' | b'*' | b'+' | b'.' | b')', b' ' | b'\t', ..] => &unnumbered[1..],
            _ => return marks,
        };
        marks += 1;
        rest = after.trim_start();
    }
}

/// Parses a text.
pub(super) fn read(text: &str, work: &Work) -> Result<Reading, Stopped> {
    work.step(text.len())?;
    let mut reader = Reader { text, headings: Vec::new(), boundaries: Vec::new(), blocks: 0, inlines: 0, title: false };
    for (event, range) in Parser::new_ext(text, Options::all()).into_offset_iter() {
        work.step(1)?;
        reader.take(event, range);
    }
    let boundaries = in_order(reader.boundaries, text);
    // The parser reports footnotes last, wherever they are.
    let mut headings = reader.headings;
    headings.sort_by_key(|heading| heading.offset);
    Ok(Reading { headings, boundaries })
}

struct Reader<'a> {
    text: &'a str,
    headings: Vec<Heading>,
    boundaries: Vec<Boundary>,
    /// How many blocks are open, and how many inline elements.
    blocks: u8,
    inlines: u8,
    /// Whether the last heading is open.
    title: bool,
}

impl Reader<'_> {
    fn take(&mut self, event: Event<'_>, range: Range<usize>) {
        match event {
            Event::Start(Tag::Heading { level, .. }) => {
                self.put(range.start, LOWEST_HEADING + 6 - rank(level));
                self.headings.push(Heading::at(range.start, rank(level)));
                self.title = true;
            }
            Event::End(TagEnd::Heading(_)) => self.title = false,
            Event::Start(tag) if is_inline(&tag) => {
                self.inline(range);
                self.inlines = self.inlines.saturating_add(1);
            }
            Event::Start(_) => {
                self.block_start(range.start);
                self.blocks = self.blocks.saturating_add(1);
            }
            Event::End(tag) if is_inline_end(&tag) => self.inlines = self.inlines.saturating_sub(1),
            Event::End(_) => {
                self.blocks = self.blocks.saturating_sub(1);
                self.put(range.end, self.block_level());
            }
            Event::Text(piece) => {
                self.add_to_title(&piece);
                self.inline(range);
            }
            Event::Code(piece) => {
                self.add_to_title(&piece);
                self.inline(range);
            }
            Event::Html(_) | Event::DisplayMath(_) => {
                self.block_start(range.start);
                self.put(range.end, self.block_level());
            }
            Event::Rule => {
                self.put(range.start, RULE);
                self.put(range.end, RULE);
            }
            Event::SoftBreak => self.put(range.end, SOFT_BREAK),
            Event::HardBreak
            | Event::InlineHtml(_)
            | Event::InlineMath(_)
            | Event::FootnoteReference(_)
            | Event::TaskListMarker(_) => self.inline(range),
        }
    }

    fn add_to_title(&mut self, piece: &str) {
        if let Some(heading) = self.headings.last_mut().filter(|_| self.title) {
            heading.extend(piece);
        }
    }

    fn block_level(&self) -> u8 {
        BLOCK - self.blocks.min(BLOCK_DEPTHS - 1)
    }

    /// Adds the start of a block. If only white space separates it from the previous block, the end of that one is used
    /// instead, because indentation belongs to the text after it.
    fn block_start(&mut self, offset: usize) {
        let level = self.block_level();
        let follows = |before: &Boundary| {
            let gap = before.offset()..offset;
            before.level >= level && self.text.get(gap).is_some_and(|gap| gap.chars().all(char::is_whitespace))
        };
        if !self.boundaries.last().is_some_and(follows) {
            self.put(offset, level);
        }
    }

    fn inline(&mut self, range: Range<usize>) {
        let level = INLINE - self.inlines.min(INLINE_DEPTHS - 1);
        self.put(range.start, level);
        self.put(range.end, level);
    }

    fn put(&mut self, offset: usize, level: u8) {
        self.boundaries.extend(Boundary::at(offset, level));
    }
}

fn rank(level: HeadingLevel) -> u8 {
    match level {
        HeadingLevel::H1 => 1,
        HeadingLevel::H2 => 2,
        HeadingLevel::H3 => 3,
        HeadingLevel::H4 => 4,
        HeadingLevel::H5 => 5,
        HeadingLevel::H6 => 6,
    }
}

fn is_inline(tag: &Tag<'_>) -> bool {
    is_inline_end(&tag.to_end())
}

fn is_inline_end(tag: &TagEnd) -> bool {
    matches!(
        tag,
        TagEnd::Emphasis
            | TagEnd::Strong
            | TagEnd::Strikethrough
            | TagEnd::Link
            | TagEnd::Image
            | TagEnd::Subscript
            | TagEnd::Superscript
            | TagEnd::TableCell
    )
}

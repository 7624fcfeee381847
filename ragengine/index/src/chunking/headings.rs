use std::ops::Range;

use super::tokens::Counter;
use super::work::{Stopped, Work};

/// What stands between the titles of a path.
const SEPARATOR: &str = " > ";
/// More of a title is not kept.
const MAX_TITLE_CHARACTERS: usize = 200;
/// A path of titles has no more characters,
const MAX_PATH_CHARACTERS: usize = 400;
/// and no more tokens, however long a chunk may be: every chunk below it has it again.
const MAX_PATH_TOKENS: usize = 64;

/// A heading, as it stands in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Heading {
    /// Where it begins.
    pub offset: usize,
    /// 1 is the highest.
    pub level: u8,
    title: String,
}

impl Heading {
    /// One whose title is not read yet.
    pub fn at(offset: usize, level: u8) -> Self {
        Self { offset, level, title: String::new() }
    }

    /// Adds to its title. What makes it too long is left out.
    pub fn extend(&mut self, piece: &str) {
        // No character has more than four bytes: what is long enough is not counted again.
        if self.title.len() < 4 * MAX_TITLE_CHARACTERS {
            self.title.extend(piece.chars().take(MAX_TITLE_CHARACTERS));
        }
    }

    fn shortened(self) -> Self {
        Self { title: self.title.trim().chars().take(MAX_TITLE_CHARACTERS).collect(), ..self }
    }
}

/// The headings of a Markdown text, by where they stand.
#[derive(Debug, Default)]
pub(super) struct Headings {
    placed: Vec<Placed>,
    longest_tokens: usize,
}

#[derive(Debug)]
struct Placed {
    offset: usize,
    title: String,
    tokens: usize,
    /// The heading that it stands under.
    outer: Option<usize>,
    /// How many of the titles above it and its own are told, from the innermost on.
    told: usize,
}

impl Headings {
    /// Takes headings in their order. A path of them that takes more than `max_tokens` loses its outer ones, and at last itself.
    pub fn of(headings: Vec<Heading>, max_tokens: usize, counter: Counter<'_>) -> Result<Self, Stopped> {
        let max_tokens = max_tokens.min(MAX_PATH_TOKENS);
        let separator_tokens = counter.tokens(SEPARATOR)?;
        let mut placed = Self::default();
        let mut open: Vec<(u8, usize)> = Vec::new();
        for heading in headings {
            let Heading { offset, level, title } = heading.shortened();
            open.retain(|(outer, _)| *outer < level);
            let outer = open.last().map(|(_, place)| *place);
            open.push((level, placed.placed.len()));
            let tokens = if title.is_empty() { 0 } else { counter.tokens(&title)? };
            placed.placed.push(Placed { offset, title, tokens, outer, told: 0 });
            placed.tell_last(max_tokens, separator_tokens);
        }
        Ok(placed)
    }

    /// Settles how much of the path of the last heading is told. Each title has been counted already: there are no more than six.
    fn tell_last(&mut self, max_tokens: usize, separator_tokens: usize) {
        let (mut tokens, mut characters, mut told) = (0, 0, 0);
        for heading in self.path_up(self.placed.len().wrapping_sub(1)) {
            if heading.title.is_empty() {
                told += 1;
                continue;
            }
            let (joint_tokens, joint) = if tokens == 0 { (0, 0) } else { (separator_tokens, SEPARATOR.len()) };
            let (more_tokens, more) =
                (tokens + joint_tokens + heading.tokens, characters + joint + heading.title.chars().count());
            if more_tokens > max_tokens || more > MAX_PATH_CHARACTERS {
                break;
            }
            (tokens, characters) = (more_tokens, more);
            told += 1;
        }
        self.longest_tokens = self.longest_tokens.max(tokens);
        if let Some(last) = self.placed.last_mut() {
            last.told = told;
        }
    }

    /// A heading and those that it stands under, from the innermost on.
    fn path_up(&self, place: usize) -> impl Iterator<Item = &Placed> {
        let innermost = self.placed.get(place);
        std::iter::successors(innermost, |heading| heading.outer.and_then(|outer| self.placed.get(outer)))
    }

    /// The path of headings that holds at this offset.
    pub fn above(&self, offset: usize) -> Option<String> {
        let place = self.placed.partition_point(|heading| heading.offset <= offset).checked_sub(1)?;
        let told = self.placed[place].told;
        let mut titles: Vec<&str> = self
            .path_up(place)
            .take(told)
            .map(|heading| heading.title.as_str())
            .filter(|title| !title.is_empty())
            .collect();
        titles.reverse();
        (!titles.is_empty()).then(|| titles.join(SEPARATOR))
    }

    /// The parts of the text between headings, each with the heading at its start. A heading that has no text of its own stays
    /// with what follows it.
    pub fn sections(&self, text: &str, work: &Work) -> Result<Vec<Range<usize>>, Stopped> {
        let starts = self.placed.iter().map(|heading| heading.offset).filter(|start| *start > 0);
        let mut sections = Vec::new();
        let (mut start, mut looked_at, mut has_text) = (0, 0, false);
        for end in starts.chain([text.len()]) {
            work.step(end - looked_at)?;
            has_text |= text[looked_at..end].lines().any(|line| !line.trim().is_empty() && !line.starts_with('#'));
            looked_at = end;
            if has_text || end == text.len() {
                sections.push(start..end);
                (start, has_text) = (end, false);
            }
        }
        Ok(sections)
    }

    /// The tokens of the longest path.
    pub fn longest_tokens(&self) -> usize {
        self.longest_tokens
    }
}

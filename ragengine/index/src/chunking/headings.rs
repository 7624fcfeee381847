use std::ops::Range;

use super::tokens::Counter;
use super::work::{Stopped, Work};

/// The separator between the titles of a path.
const SEPARATOR: &str = " > ";
/// The longest title, in characters. Longer ones are cut.
const MAX_TITLE_CHARACTERS: usize = 200;
/// The longest path of titles, in characters.
const MAX_PATH_CHARACTERS: usize = 400;
/// The longest path of titles, in tokens. Every chunk below the headings repeats it.
const MAX_PATH_TOKENS: usize = 64;

/// A heading in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Heading {
    /// Its offset in bytes.
    pub offset: usize,
    /// Its level, 1 to 6.
    pub level: u8,
    title: String,
}

impl Heading {
    /// A heading without a title.
    pub fn at(offset: usize, level: u8) -> Self {
        Self { offset, level, title: String::new() }
    }

    /// Appends to the title, up to its limit.
    pub fn extend(&mut self, piece: &str) {
        // A character has at most four bytes, so a title of this length is long enough.
        if self.title.len() < 4 * MAX_TITLE_CHARACTERS {
            self.title.extend(piece.chars().take(MAX_TITLE_CHARACTERS));
        }
    }

    fn shortened(self) -> Self {
        Self { title: self.title.trim().chars().take(MAX_TITLE_CHARACTERS).collect(), ..self }
    }
}

/// The headings of a Markdown text, by offset.
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
    /// The heading above it, as an index.
    outer: Option<usize>,
    /// How many titles the path has: this heading's and those above it, from the innermost on.
    path_length: usize,
}

impl Headings {
    /// Places headings, which must be in order. A path with more than `max_tokens` loses its outer titles, and then all
    /// of them.
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
            placed.placed.push(Placed { offset, title, tokens, outer, path_length: 0 });
            placed.limit_path_of_last(max_tokens, separator_tokens);
        }
        Ok(placed)
    }

    /// Determines how much of the last heading's path fits. The titles are counted already, and a path has at most six.
    fn limit_path_of_last(&mut self, max_tokens: usize, separator_tokens: usize) {
        let (mut tokens, mut characters, mut path_length) = (0, 0, 0);
        for heading in self.path_up(self.placed.len().wrapping_sub(1)) {
            if heading.title.is_empty() {
                path_length += 1;
                continue;
            }
            let (joint_tokens, joint) = if tokens == 0 { (0, 0) } else { (separator_tokens, SEPARATOR.len()) };
            let (more_tokens, more) =
                (tokens + joint_tokens + heading.tokens, characters + joint + heading.title.chars().count());
            if more_tokens > max_tokens || more > MAX_PATH_CHARACTERS {
                break;
            }
            (tokens, characters) = (more_tokens, more);
            path_length += 1;
        }
        self.longest_tokens = self.longest_tokens.max(tokens);
        if let Some(last) = self.placed.last_mut() {
            last.path_length = path_length;
        }
    }

    /// A heading and those above it, from the innermost on.
    fn path_up(&self, place: usize) -> impl Iterator<Item = &Placed> {
        let innermost = self.placed.get(place);
        std::iter::successors(innermost, |heading| heading.outer.and_then(|outer| self.placed.get(outer)))
    }

    /// The path of the headings above an offset.
    pub fn above(&self, offset: usize) -> Option<String> {
        let place = self.placed.partition_point(|heading| heading.offset <= offset).checked_sub(1)?;
        let path_length = self.placed[place].path_length;
        let mut titles: Vec<&str> = self
            .path_up(place)
            .take(path_length)
            .map(|heading| heading.title.as_str())
            .filter(|title| !title.is_empty())
            .collect();
        titles.reverse();
        (!titles.is_empty()).then(|| titles.join(SEPARATOR))
    }

    /// The parts of the text between headings, each starting with its heading. A heading without text stays with the
    /// part that follows it.
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

    /// The number of tokens of the longest path.
    pub fn longest_tokens(&self) -> usize {
        self.longest_tokens
    }
}

use std::ops::Range;

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

/// The headings of a Markdown text, by where they stand.
#[derive(Debug, Default)]
pub(super) struct Headings {
    /// The offset from which a path of headings holds, and the path.
    paths: Vec<(usize, String)>,
    longest_tokens: usize,
}

impl Headings {
    /// Reads the headings. A path of them that takes more than `max_tokens` loses its outer ones, and at last itself.
    pub fn of(text: &str, max_tokens: usize, count_tokens: &impl Fn(&str) -> usize) -> Self {
        let mut open: Vec<(HeadingLevel, String)> = Vec::new();
        let mut headings = Self::default();
        let mut current: Option<(usize, HeadingLevel, String)> = None;
        for (event, range) in Parser::new_ext(text, Options::all()).into_offset_iter() {
            match event {
                Event::Start(Tag::Heading { level, .. }) => current = Some((range.start, level, String::new())),
                Event::Text(piece) | Event::Code(piece) => {
                    if let Some((_, _, title)) = &mut current {
                        title.push_str(&piece);
                    }
                }
                Event::End(TagEnd::Heading(_)) => {
                    let Some((offset, level, title)) = current.take() else { continue };
                    open.retain(|(outer, _)| *outer < level);
                    open.push((level, title.trim().to_owned()));
                    headings.push(offset, &open, max_tokens, count_tokens);
                }
                _ => {}
            }
        }
        headings
    }

    /// The path of headings that holds at this offset.
    pub fn above(&self, offset: usize) -> Option<String> {
        let after = self.paths.partition_point(|(start, _)| *start <= offset);
        let (_, path) = self.paths.get(after.checked_sub(1)?)?;
        (!path.is_empty()).then(|| path.clone())
    }

    /// The parts of the text between headings, each with the heading at its start. A heading that has no text of its own stays
    /// with what follows it.
    pub fn sections(&self, text: &str) -> Vec<Range<usize>> {
        let starts = self.paths.iter().map(|(start, _)| *start).filter(|start| *start > 0);
        let mut sections = Vec::new();
        let mut start = 0;
        for end in starts.chain([text.len()]) {
            let has_text = text[start..end].lines().any(|line| !line.trim().is_empty() && !line.starts_with('#'));
            if has_text || end == text.len() {
                sections.push(start..end);
                start = end;
            }
        }
        sections
    }

    /// The tokens of the longest path.
    pub fn longest_tokens(&self) -> usize {
        self.longest_tokens
    }

    fn push(
        &mut self,
        offset: usize,
        open: &[(HeadingLevel, String)],
        max_tokens: usize,
        count_tokens: &impl Fn(&str) -> usize,
    ) {
        let titles: Vec<&str> =
            open.iter().map(|(_, title)| title.as_str()).filter(|title| !title.is_empty()).collect();
        let fitting = (0..titles.len())
            .map(|outermost| titles[outermost..].join(" > "))
            .map(|path| (count_tokens(&path), path))
            .find(|(tokens, _)| *tokens <= max_tokens);
        let (tokens, path) = fitting.unwrap_or_default();
        self.longest_tokens = self.longest_tokens.max(tokens);
        self.paths.push((offset, path));
    }
}

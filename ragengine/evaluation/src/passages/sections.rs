//! Finds the sections of a reStructuredText file, and the paragraphs of each.

use super::markup::plain;

/// Directives that are dropped with what is indented below them: they show nothing, or only say which version.
const DROPPED: [&str; 21] = [
    "contents",
    "currentmodule",
    "default-role",
    "deprecated",
    "figure",
    "highlight",
    "image",
    "index",
    "literalinclude",
    "module",
    "py:currentmodule",
    "raw",
    "setting",
    "templatefilter",
    "templatetag",
    "toctree",
    "versionadded",
    "versionchanged",
    "fieldlookup",
    "autoclass",
    "autofunction",
];

/// Directives whose name and argument are dropped, because only what is indented below them is shown.
const UNWRAPPED: [&str; 9] =
    ["code", "code-block", "console", "note", "sourcecode", "warning", "tip", "parsed-literal", "highlight"];

/// A section of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Section {
    /// The titles of the file and of the section, or only the first.
    pub heading: String,
    /// Its paragraphs, listings and list items, without markup.
    pub blocks: Vec<String>,
}

/// The sections of a file, in order. Text before the first title is dropped.
pub(super) fn sections(text: &str) -> Vec<Section> {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let mut sections: Vec<Section> = Vec::new();
    let mut page = None;
    let mut block = Vec::new();
    let mut position = 0;
    while let Some(line) = lines.get(position) {
        let next = lines.get(position + 1).copied().unwrap_or_default();
        if is_title(line, next) {
            close(&mut block, &mut sections);
            let title = plain(line);
            let page: &String = page.get_or_insert_with(|| title.clone());
            let heading = if *page == title { title } else { format!("{page}: {title}") };
            sections.push(Section { heading, blocks: Vec::new() });
            position += 2;
        } else if let Some((name, argument)) = directive(line) {
            close(&mut block, &mut sections);
            position += if DROPPED.contains(&name) { body_length(&lines, position) } else { 1 };
            if !DROPPED.contains(&name) && !UNWRAPPED.contains(&name) && !argument.is_empty() {
                block.push(argument);
            }
        } else {
            if line.is_empty() || is_rule(line) || is_hidden(line) {
                close(&mut block, &mut sections);
            } else {
                block.push(line);
            }
            position += 1;
        }
    }
    close(&mut block, &mut sections);
    sections
}

fn close(block: &mut Vec<&str>, sections: &mut [Section]) {
    let text = plain(&block.join("\n"));
    if let (Some(section), true) = (sections.last_mut(), !text.trim().is_empty()) {
        section.blocks.push(text);
    }
    block.clear();
}

fn is_title(line: &str, next: &str) -> bool {
    let starts = line.chars().next().is_some_and(|first| !first.is_whitespace());
    starts && !is_rule(line) && is_rule(next) && next.chars().count() >= line.chars().count()
}

/// A line below or above a title, or between paragraphs.
fn is_rule(line: &str) -> bool {
    let mut characters = line.chars();
    let Some(first) = characters.next() else { return false };
    line.len() >= 3 && "=-~^\"'`*#+".contains(first) && characters.all(|character| character == first)
}

/// Targets of links, options of directives, and comments.
fn is_hidden(line: &str) -> bool {
    let line = line.trim_start();
    let is_option = line.strip_prefix(':').and_then(|rest| rest.split_once(':')).is_some_and(|(name, value)| {
        !value.starts_with('`') && name.chars().all(|character| character.is_ascii_lowercase() || character == '-')
    });
    line.starts_with(".. ") || line == ".." || line == "::" || is_option
}

/// The name and the argument of a directive, such as `.. note::`.
fn directive(line: &str) -> Option<(&str, &str)> {
    let (name, argument) = line.trim_start().strip_prefix(".. ")?.split_once("::")?;
    let is_name =
        !name.is_empty() && name.chars().all(|character| character.is_alphanumeric() || "-:_".contains(character));
    is_name.then_some((name, argument.trim()))
}

/// Number of lines of a directive with what is indented below it.
fn body_length(lines: &[&str], start: usize) -> usize {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let own = lines.get(start).map_or(0, |line| indent(line));
    let below = lines.iter().skip(start + 1);
    1 + below.take_while(|line| line.is_empty() || indent(line) > own).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_as_sections_with_paragraphs() {
        let text = ".. _guide:\n\n=====\nGuide\n=====\n\nFirst ``x``.\n\n.. index:: a\n   b\n\nSecond\nline.\n\n\
                    Part\n----\n\n.. note::\n\n    Inside.\n\n.. option:: --all\n\n    :rtype: x\n";
        let section = |heading: &str, blocks: &[&str]| Section {
            heading: heading.to_owned(),
            blocks: blocks.iter().map(|&block| block.to_owned()).collect(),
        };
        assert_eq!(
            sections(text),
            [section("Guide", &["First `x`.", "Second\nline."]), section("Guide: Part", &["    Inside.", "--all"]),]
        );
    }
}

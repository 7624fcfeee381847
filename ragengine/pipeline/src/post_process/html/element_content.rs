//! Whether a start tag begins an element, or prose only mentions it ("put it into the `<head>` of the page").

/// What is behind a start tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    /// Text.
    Shown,
    /// No text, such as a script, and its end tag: together this many bytes.
    Hidden { end: usize },
}

/// What `rest`, the text behind the start tag `name`, begins with. None if that is undecided until more is known.
///
/// Content is hidden only if its end is seen: a tag that is never closed must not hide the rest of the answer.
pub(super) fn of(name: &str, rest: &str, is_whole: bool) -> Option<Content> {
    let looks_right: fn(&str) -> bool = match name {
        "head" | "svg" | "template" => |content| content.starts_with('<'),
        "style" => |content| content.contains('{'),
        "script" => |content| content.contains(['(', ';', '=', '{']),
        _ => return Some(Content::Shown),
    };
    let Some((content, end)) = ended(name, rest) else { return is_whole.then_some(Content::Shown) };
    let content = content.trim();
    Some(if content.is_empty() || looks_right(content) { Content::Hidden { end } } else { Content::Shown })
}

/// Whether the text behind `<pre>` is preformatted: a line break or `<code>` follows, or its end tag. None if that is
/// undecided.
pub(super) fn is_preformatted(rest: &str, is_whole: bool) -> Option<bool> {
    const CODE: &str = "<code";
    let begins =
        |text: &str| text.len() >= CODE.len() && text.as_bytes()[..CODE.len()].eq_ignore_ascii_case(CODE.as_bytes());
    if rest.starts_with(['\n', '\r']) || begins(rest) || ended("pre", rest).is_some() {
        return Some(true);
    }
    is_whole.then_some(false)
}

/// The content of an element, and the position behind its end tag.
fn ended<'a>(name: &str, rest: &'a str) -> Option<(&'a str, usize)> {
    rest.match_indices("</").find_map(|(at, _)| {
        let tag = &rest[at + 2..];
        let found = tag.get(..name.len()).filter(|found| found.eq_ignore_ascii_case(name))?;
        let after = tag[found.len()..].trim_start_matches([' ', '\t', '\n', '\r']);
        let bytes = rest.len() - after.len();
        after.starts_with('>').then(|| (&rest[..at], bytes + 1))
    })
}

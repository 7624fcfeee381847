//! Removes reStructuredText's inline markup, so that a passage reads as on the rendered page.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};

/// The patterns are constant and valid, which the tests show. Without a pattern, text stays as it is.
fn pattern(text: &str) -> Option<Regex> {
    Regex::new(text).ok()
}

static ROLE: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r":[A-Za-z][A-Za-z0-9.+:-]*:`([^`]+)`"));
static LINK: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"(^|[^`])`([^`]+)`__?"));
static LITERAL: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"``([^`]+)``"));

/// The text of a paragraph without its markup.
pub(super) fn plain(text: &str) -> String {
    let text = replace(&ROLE, text, |found| target_text(&found[1]));
    let text = replace(&LINK, &text, |found| format!("{}{}", &found[1], target_text(&found[2])));
    let text = replace(&LITERAL, &text, |found| format!("`{}`", &found[1]));
    text.strip_suffix("::").map_or_else(|| text.to_string(), |text| format!("{text}:"))
}

fn replace<'a>(pattern: &LazyLock<Option<Regex>>, text: &'a str, by: impl Fn(&Captures<'_>) -> String) -> Cow<'a, str> {
    pattern.as_ref().map_or(Cow::Borrowed(text), |pattern| pattern.replace_all(text, by))
}

/// The visible part of a reference: `text <target>` shows the text, `~a.b.c` shows `c`.
fn target_text(reference: &str) -> String {
    let shown = match reference.rfind('<') {
        Some(start) if start > 0 && reference.ends_with('>') => reference[..start].trim_end(),
        _ => reference,
    };
    match shown.strip_prefix('~') {
        Some(path) => path.rsplit('.').next().unwrap_or(path).to_owned(),
        None => shown.trim_start_matches('!').to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_and_literals_show_their_text() {
        for (marked, shown) in [
            ("See :setting:`DEBUG`.", "See DEBUG."),
            ("Use :meth:`~a.b.Request.get_host()` or :ref:`the\nguide <deep-link>`.", "Use get_host() or the\nguide."),
            ("A `page <https://example.org>`_ and `another`__.", "A page and another."),
            ("Set ``X = 1`` first::", "Set `X = 1` first:"),
            ("``a`` and ``b``_", "`a` and `b`_"),
        ] {
            assert_eq!(plain(marked), shown);
        }
    }
}

//! Text that is not shown, such as that of a script: up to its end tag.
//!
//! An end tag that never comes must not hide the rest of the answer. So prose ends such text, too.

use super::{Look, Window};

/// The number of words with which a line reads as prose.
const MIN_WORDS: usize = 2;

/// How many bytes at the beginning of a window are hidden, and whether text is shown again behind them. None if that is
/// undecided.
pub(super) fn read(window: Window<'_>, name: &str) -> Option<(usize, bool)> {
    match window.text.as_bytes().first() {
        Some(b'<') => match end_tag(window, name) {
            Look::Yes(bytes) => Some((bytes, true)),
            Look::No => Some((1, false)),
            Look::Open => None,
        },
        Some(b'\n') => Some(if begins_prose(window)? { (0, true) } else { (1, false) }),
        _ => Some((window.text.find(['<', '\n']).unwrap_or(window.text.len()), false)),
    }
}

/// Whether an element's end tag is at the beginning of a window.
pub(crate) fn end_tag(window: Window<'_>, name: &str) -> Look {
    let Some(tag) = window.text.strip_prefix("</") else {
        return if window.text == "<" { window.ended() } else { Look::No };
    };
    let found = match tag.get(..name.len()) {
        Some(found) => found,
        None if tag.len() < name.len() => return window.ended(),
        None => return Look::No,
    };
    let after = tag[found.len()..].trim_start_matches([' ', '\t', '\n', '\r']);
    match after.chars().next() {
        _ if !found.eq_ignore_ascii_case(name) => Look::No,
        None => window.ended(),
        Some('>') => Look::Yes(window.text.len() - after.len() + 1),
        Some(_) => Look::No,
    }
}

/// Whether prose or a block of code begins behind a line break. None if that is undecided.
fn begins_prose(window: Window<'_>) -> Option<bool> {
    let rest = window.text.trim_start_matches([' ', '\t', '\r', '\n']);
    let breaks = window.text[..window.text.len() - rest.len()].matches('\n').count();
    let line = match rest.split_once('\n') {
        Some((line, _)) => line,
        None if window.is_whole => rest,
        None => return None,
    };
    Some(line.starts_with("```") || breaks > 1 && is_prose(line))
}

/// Whether the first line of a paragraph reads as prose rather than as code.
fn is_prose(line: &str) -> bool {
    let is_mark = |character: char| character.is_ascii_digit() || "#-*+>.) ".contains(character);
    let line = line.trim_start_matches(is_mark);
    let words = || line.split_whitespace().filter(|word| word.chars().all(char::is_alphabetic)).count();
    match line.chars().next() {
        // Not all languages have spaces between words.
        Some(first) if first.is_alphabetic() && !first.is_ascii() => true,
        Some(first) => first.is_uppercase() && !line.contains('=') && words() >= MIN_WORDS,
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is left of a text that begins hidden.
    fn shown(text: &str) -> &str {
        let mut rest = text;
        while !rest.is_empty() {
            let (bytes, ends) = read(Window::of(rest, true), "script").unwrap();
            rest = &rest[bytes..];
            if ends {
                break;
            }
        }
        rest
    }

    #[test]
    fn hidden_text_ends_with_its_end_tag() {
        for (text, expected) in [
            ("a < b</script>c", "c"),
            ("a\n\nb();</SCRIPT \n>c", "c"),
            ("</scripts></script x></style>", ""),
            ("</scrip\u{e9}></script>c", "c"),
            ("a </scri", ""),
        ] {
            assert_eq!(shown(text), expected, "{text:?}");
        }
    }

    #[test]
    fn prose_ends_hidden_text() {
        for prose in [
            "\n\nThen reload [2].",
            "\n \n\n## Then reload [2]",
            "\n\n1. **Then** reload it [2].",
            "\r\n\r\n\u{c4}ndern [2].",
            "\n\n\u{7136}\u{540e} [2]",
            "\n```js\n",
        ] {
            let ends_line = prose.strip_prefix('\r').unwrap_or(prose);
            assert_eq!(shown(&format!("f();{prose}")), ends_line, "{prose:?}");
        }
        for code in [
            "\nThen reload [2].",
            "\n\nconst first second",
            "\n\nPrism.highlightAll()",
            "\n\nVue.use(Router, options)",
            "\n\nName = await new Thing",
            "\n\n#Main .part,\n.other {}",
            "\n\n/* The second part */",
            "\n\n",
        ] {
            assert_eq!(shown(&format!("f();{code}")), "", "{code:?}");
        }
    }

    #[test]
    fn what_may_end_hidden_text_is_undecided() {
        for open in ["<", "</", "</scrip", "</script", "</script ", "\n", "\n\nThen reload"] {
            assert_eq!(read(Window::of(open, false), "script"), None, "{open:?}");
        }
    }
}

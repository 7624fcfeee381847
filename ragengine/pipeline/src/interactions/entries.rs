//! The entries of a context that is one text.

use super::SEPARATOR;

/// The dashes between two entries.
const DASHES: &str = "---";

/// The entries of a context. They end at a line of three dashes, with any white space around it, because
/// separators may be indented.
pub fn entries(context: &str) -> Vec<&str> {
    let mut entries = Vec::new();
    let mut begin = 0;
    for (at, _) in context.match_indices(DASHES) {
        let (before, after) = (&context[begin..at], &context[at + DASHES.len()..]);
        let text_bytes = before.trim_end().len();
        let gap_bytes = after.len() - after.trim_start().len();
        let (Some(first), Some(last)) = (before[text_bytes..].find('\n'), after[..gap_bytes].rfind('\n')) else {
            continue;
        };
        entries.push(&before[..text_bytes + first]);
        begin = at + DASHES.len() + last + 1;
    }
    entries.push(&context[begin..]);
    entries
}

/// The entries with separators between them.
pub(super) fn joined<'a>(entries: impl Iterator<Item = &'a str>) -> String {
    entries.collect::<Vec<_>>().join(SEPARATOR)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn entries_end_at_lines_of_three_dashes() {
        for (context, expected) in [
            ("", &[""][..]),
            ("a", &["a"]),
            ("a\n\n---\n\nb", &["a", "b"]),
            ("a\n---\nb\n---\nc", &["a", "b", "c"]),
            ("a\n    \n    ---\n    \n    b", &["a", "    b"]),
            ("a  \n\t---  \nb", &["a  ", "b"]),
            ("a\r\n---\r\nb", &["a\r", "b"]),
            ("a --- b", &["a --- b"]),
            ("a\n----\nb", &["a\n----\nb"]),
            ("a\n--- b", &["a\n--- b"]),
            ("---\na", &["---\na"]),
            ("a\n---", &["a\n---"]),
            ("\n---\n", &["", ""]),
            ("a\n---\n---\nb", &["a", "---\nb"]),
        ] {
            assert_eq!(entries(context), expected, "{context:?}");
        }
    }

    proptest! {
        #[test]
        fn joined_entries_are_found_again(texts in proptest::collection::vec("[a-z][a-z \n]{0,9}[a-z]", 1..6)) {
            let context = joined(texts.iter().map(String::as_str));
            prop_assert_eq!(entries(&context), texts);
        }

        #[test]
        fn no_text_is_lost(context in "[a\n -]{0,40}") {
            let letters = |text: &str| text.matches('a').count();
            prop_assert_eq!(entries(&context).into_iter().map(letters).sum::<usize>(), letters(&context));
        }
    }
}

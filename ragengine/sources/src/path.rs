use crate::Item;

/// Checks that a path is relative, and cannot lead out of its source.
///
/// # Errors
///
/// A message for the user.
pub fn check(path: &str) -> Result<(), &'static str> {
    check_name(path)?;
    if path.split('/').any(|part| matches!(part, "" | "." | "..")) {
        return Err("its path has an empty part, '.' or '..': rename it");
    }
    Ok(())
}

/// Checks a path that is only used as a name, such as that of a URL, and never to open a file.
///
/// # Errors
///
/// A message for the user.
pub fn check_name(path: &str) -> Result<(), &'static str> {
    if path.is_empty() {
        return Err("its path is empty");
    }
    if path.len() > Item::MAX_PATH_BYTES {
        return Err("its path is longer than 400 bytes: shorten it");
    }
    if path.chars().any(char::is_control) {
        return Err("its path has a control character: rename it");
    }
    Ok(())
}

/// An invalid path for display: in one line, and shortened. A shortened path ends with `…`, so it cannot be the path
/// of another file.
pub fn shown(path: &str) -> String {
    shown_within(path, Item::MAX_PATH_BYTES)
}

/// A text for display, in one line. One of more characters than this is shortened, and ends with `…`.
pub fn shown_within(text: &str, max_chars: usize) -> String {
    let mut letters = text.chars().map(|letter| if letter.is_control() { '\u{fffd}' } else { letter });
    let mut shown: String = letters.by_ref().take(max_chars).collect();
    if letters.next().is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn paths_that_lead_out_of_the_source_are_refused() {
        let cases = [
            ("a.md", true),
            ("a/b/c.md", true),
            ("a/.b", true),
            ("ü/ß.md", true),
            ("a b.md", true),
            ("", false),
            ("/a", false),
            ("a/", false),
            ("a//b", false),
            ("./a", false),
            ("a/../b", false),
            ("..", false),
            ("a\nb", false),
            ("a\0", false),
        ];
        for (path, expected) in cases {
            assert_eq!(check(path).is_ok(), expected, "{path:?}");
        }
        assert!(check(&"a".repeat(400)).is_ok());
        assert!(check(&"a".repeat(401)).is_err());
        assert!(check_name("host/a//b?c").is_ok());
    }

    proptest! {
        #[test]
        fn a_valid_path_stays_below_its_root(path in "[a./\\\\~é\u{0}-\u{1f}]{0,12}") {
            if check(&path).is_ok() {
                let joined = std::path::Path::new("/root").join(&path);
                prop_assert!(joined.starts_with("/root"));
                prop_assert!(!joined.components().any(|part| part == std::path::Component::ParentDir));
            }
        }

        #[test]
        fn a_displayed_path_is_one_short_line(path in "\\PC{0,600}|[\u{0}-\u{1f}]{0,600}") {
            let shown = shown(&path);
            prop_assert!(shown.chars().count() <= 401 && !shown.chars().any(char::is_control));
            prop_assert_eq!(shown.chars().count() > 400, path.chars().count() > 400);
        }
    }
}

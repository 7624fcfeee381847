//! The name of a document, which is embedded with each of its chunks (`embedding.local.documentNames`).
//!
//! A chunk of a manual seldom says what the manual is about, and a question does. llama-index embeds all metadata with
//! each chunk; the name is the part of it that questions have. docs/quality.md has figures.

use ragengine_client::wire::Metadata;

/// The most characters of a title or a path. Longer ones are cut.
const MAX_CHARACTERS: usize = 160;

/// The most tokens of a name. Every chunk of the document repeats it.
const MAX_TOKENS: usize = 48;

/// The part of the longest passage that a name may take, as a divisor.
const LARGEST_PART: usize = 4;

/// A name and its size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentName {
    /// The words of `path`, and `title`.
    pub text: String,
    /// Its tokens, as the embedding model counts them.
    pub tokens: usize,
}

impl DocumentName {
    /// The name that a document's metadata gives. A name that is too long loses its path. None without a name that fits.
    pub fn of(metadata: &Metadata, max_passage_tokens: usize, count_tokens: &dyn Fn(&str) -> usize) -> Option<Self> {
        let limit = MAX_TOKENS.min(max_passage_tokens / LARGEST_PART);
        let (path, title) = (text(metadata, "path"), text(metadata, "title"));
        let title = if title == path { String::new() } else { title };
        let path = words(&path);
        let both =
            if title.is_empty() || path.is_empty() { format!("{path}{title}") } else { format!("{path}: {title}") };
        let named = |text: String| Self { tokens: count_tokens(&text), text };
        [both, title].into_iter().filter(|text| !text.is_empty()).map(named).find(|name| name.tokens <= limit)
    }
}

/// A text of the metadata in one line.
fn text(metadata: &Metadata, key: &str) -> String {
    let text = metadata.get(key).and_then(serde_json::Value::as_str).unwrap_or_default();
    let text: String = text.chars().take(MAX_CHARACTERS).collect();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The words of a path, without the ending of a file's name: `guides/time-off.md` has guides, time and off.
fn words(path: &str) -> String {
    let end = path.rfind('.').filter(|dot| *dot > path.rfind('/').map_or(0, |slash| slash + 1));
    let stem = &path[..end.unwrap_or(path.len())];
    stem.split(['/', '-', '_', ' ']).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn name(metadata: serde_json::Value, max_passage_tokens: usize) -> Option<String> {
        let metadata: Metadata = serde_json::from_value(metadata).unwrap();
        DocumentName::of(&metadata, max_passage_tokens, &|text| text.split_whitespace().count()).map(|name| name.text)
    }

    #[test]
    fn a_name_is_the_path_in_words_and_the_title() {
        for (metadata, expected) in [
            (json!({"path": "guides/time-off_2.md", "title": "Time off"}), Some("guides time off 2: Time off")),
            (json!({"path": "guides/time-off.md", "title": "guides/time-off.md"}), Some("guides time off")),
            (json!({"path": "guides/time-off.md"}), Some("guides time off")),
            (json!({"path": "v1.2/.profile"}), Some("v1.2 .profile")),
            (json!({"path": ".profile"}), Some(".profile")),
            (json!({"title": "Time\noff "}), Some("Time off")),
            (json!({"title": "", "path": " "}), None),
            (json!({"title": 7}), None),
            (json!({}), None),
        ] {
            assert_eq!(name(metadata.clone(), 256).as_deref(), expected, "{metadata}");
        }
    }

    #[test]
    fn a_long_name_loses_its_path_and_then_everything() {
        let metadata = json!({"path": "a/b/c/d", "title": "one two"});
        for (max_passage_tokens, expected) in [(24, Some("a b c d: one two")), (23, Some("one two")), (7, None)] {
            assert_eq!(name(metadata.clone(), max_passage_tokens).as_deref(), expected, "{max_passage_tokens}");
        }
        assert_eq!(name(json!({"title": "a ".repeat(49)}), 1000), None);
        assert_eq!(name(json!({"title": "x".repeat(1000)}), 1000).map(|name| name.len()), Some(160));
    }
}

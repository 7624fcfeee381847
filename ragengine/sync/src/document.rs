//! The document that is sent, from what was read of a file.

use ragengine_client::wire::{Document, Metadata};
use ragengine_parsers::ParsedDocument;
use serde_json::Value;

use crate::identity::SourceName;

/// What is known of a file beside what stands in it.
#[derive(Debug, Clone, Copy)]
pub struct FileFacts<'a> {
    /// Its path in the source.
    pub path: &'a str,
    /// Where it can be looked at.
    pub url: Option<&'a str>,
    /// When it was changed, as RFC 3339 writes it. Only the day is kept, as that of a date in a file is.
    pub modified: Option<&'a str>,
}

/// The address that a file says it is to be known by. Anybody can write any into a file.
const CLAIMED_URL: &str = "claimed_url";

/// The document of a file: what the source adds to its metadata wins over what stands in the file, and that over what is known of the file. An
/// address is the one that the file was fetched from, or what the source adds: one that stands in the file is kept apart.
pub fn document(source: &SourceName, file: FileFacts<'_>, parsed: ParsedDocument, added: &Metadata) -> Document {
    let mut metadata = Metadata::new();
    let known =
        [("title", Some(name(file.path))), ("url", file.url), ("date", file.modified.and_then(|time| time.get(..10)))];
    for (key, value) in known {
        if let Some(value) = value {
            metadata.insert(key.to_owned(), Value::from(value));
        }
    }
    let mut said = parsed.metadata;
    if let Some(claimed) = said.shift_remove("url") {
        said.insert(CLAIMED_URL.to_owned(), claimed);
    }
    metadata.extend(said);
    metadata.insert("path".to_owned(), Value::from(file.path));
    metadata.extend(added.clone());
    Document {
        doc_id: Some(source.doc_id(file.path, parsed.key.as_deref())),
        text: parsed.text,
        metadata,
        source: Some(source.on_server()),
        revision: None,
    }
}

fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(value: Value) -> Metadata {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn the_source_wins_over_the_file_and_the_file_over_its_name() {
        let file = FileFacts { path: "docs/a.md", url: Some("https://x/a"), modified: Some("2026-05-01T10:00:00Z") };
        let parsed = ParsedDocument {
            key: None,
            text: "t".into(),
            metadata: object(json!({"title": "A", "date": "2026-04-01", "team": "file"})),
        };
        let document = document(&SourceName::new("o", "s"), file, parsed, &object(json!({"team": "platform"})));
        assert_eq!(document.doc_id.as_deref(), Some("o.s/docs/a.md"));
        assert_eq!(document.source.as_deref(), Some("o.s"));
        let expected = json!({
            "title": "A", "url": "https://x/a", "date": "2026-04-01", "path": "docs/a.md", "team": "platform"
        });
        assert_eq!(Value::Object(document.metadata), expected);
    }

    #[test]
    fn the_address_that_a_file_was_fetched_from_is_not_the_one_that_it_claims() {
        let address = |fetched: Option<&str>, said: Value, added: Value| {
            let file = FileFacts { path: "a.html", url: fetched, modified: None };
            let parsed = ParsedDocument { key: None, text: "t".into(), metadata: object(said) };
            let metadata = document(&SourceName::new("o", "s"), file, parsed, &object(added)).metadata;
            (metadata.get("url").cloned(), metadata.get("claimed_url").cloned())
        };
        let (fetched, claim) = (json!("https://x/a"), json!({"url": "https://bank.example/"}));
        let claimed = Some(json!("https://bank.example/"));
        assert_eq!(address(Some("https://x/a"), json!({}), json!({})), (Some(fetched.clone()), None));
        assert_eq!(address(Some("https://x/a"), claim.clone(), json!({})), (Some(fetched), claimed.clone()));
        assert_eq!(address(None, claim.clone(), json!({})), (None, claimed.clone()));
        let added = json!({"url": "https://docs.example/"});
        assert_eq!(address(Some("https://x/a"), claim, added.clone()), (Some(added["url"].clone()), claimed));
    }

    #[test]
    fn a_file_without_a_title_has_its_name() {
        let file = FileFacts { path: "docs/a.txt", url: None, modified: Some("2026-05-01T10:00:00Z") };
        let document = document(&SourceName::new("o", "s"), file, ParsedDocument::default(), &Metadata::new());
        let expected = json!({"title": "a.txt", "date": "2026-05-01", "path": "docs/a.txt"});
        assert_eq!(Value::Object(document.metadata), expected);
    }
}

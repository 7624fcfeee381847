//! Builds the document to send from a parsed document and its file.

use ragengine_client::wire::{Document, Metadata};
use ragengine_parsers::ParsedDocument;
use serde_json::Value;

use crate::identity::SourceName;

/// The properties of a file that are not part of its content.
#[derive(Debug, Clone, Copy)]
pub struct FileFacts<'a> {
    /// The path in the source.
    pub path: &'a str,
    /// The URL where a reader finds the file.
    pub url: Option<&'a str>,
    /// The time of modification, as in RFC 3339. Only the day is used, like for dates in files.
    pub modified: Option<&'a str>,
}

/// The metadata key of the URL that the file itself contains. It is not trusted, because the author of a file can write
/// any URL into it.
const CLAIMED_URL: &str = "claimed_url";

/// The metadata keys that say how the server cuts a document of source code.
const CODE_KEYS: [&str; 2] = ["split_type", "language"];

/// Builds the document of a file. Metadata from the source override metadata in the file, which override properties of
/// the file. Only source code keeps the way it is cut: `language` of a source is usually that of its prose, such as
/// `en`, and the server refuses code in that language. `url` is never read from the file content: it is the address of the fetched file, or comes from the
/// source.
pub fn document(source: &SourceName, file: FileFacts<'_>, parsed: ParsedDocument, added: &Metadata) -> Document {
    let mut metadata = Metadata::new();
    let known =
        [("title", Some(name(file.path))), ("url", file.url), ("date", file.modified.and_then(|time| time.get(..10)))];
    for (key, value) in known {
        if let Some(value) = value {
            metadata.insert(key.to_owned(), Value::from(value));
        }
    }
    let mut in_file = parsed.metadata;
    let is_code = in_file.get("split_type").and_then(Value::as_str) == Some("code");
    if let Some(claimed) = in_file.shift_remove("url") {
        in_file.insert(CLAIMED_URL.to_owned(), claimed);
    }
    metadata.extend(in_file);
    metadata.insert("path".to_owned(), Value::from(file.path));
    let is_kept = |key: &str| is_code && CODE_KEYS.contains(&key);
    metadata.extend(added.iter().filter(|(key, _)| !is_kept(key)).map(|(key, value)| (key.clone(), value.clone())));
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
    fn metadata_of_the_source_override_those_of_the_file() {
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
    fn source_code_keeps_the_way_it_is_cut() {
        let added = object(json!({"language": "en", "split_type": "default", "team": "platform"}));
        let code = json!({"split_type": "code", "language": "rust"});
        for (in_file, split_type, language) in
            [(code, "code", "rust"), (json!({"split_type": "markdown"}), "default", "en"), (json!({}), "default", "en")]
        {
            let file = FileFacts { path: "a", url: None, modified: None };
            let parsed = ParsedDocument { key: None, text: "t".into(), metadata: object(in_file) };
            let metadata = document(&SourceName::new("o", "s"), file, parsed, &added).metadata;
            let found = [&metadata["split_type"], &metadata["language"], &metadata["team"]];
            assert_eq!(found, [split_type, language, "platform"]);
        }
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
    fn the_default_title_is_the_file_name() {
        let file = FileFacts { path: "docs/a.txt", url: None, modified: Some("2026-05-01T10:00:00Z") };
        let document = document(&SourceName::new("o", "s"), file, ParsedDocument::default(), &Metadata::new());
        let expected = json!({"title": "a.txt", "date": "2026-05-01", "path": "docs/a.txt"});
        assert_eq!(Value::Object(document.metadata), expected);
    }
}

//! Maps the files of a source to the ids of documents on the server.

use sha2::{Digest, Sha256};

/// Separates the path of a file from the key of a document within the file.
const KEY: char = '#';

/// The longest id that the server takes, in bytes.
const MAX_ID_BYTES: usize = 512;

/// Separates the beginning of a shortened text from the hash of the whole. An escaped path does not contain it.
const SHORTENED: &str = "%~";

/// The number of hexadecimal digits of that hash.
const HASH_DIGITS: usize = 32;

/// The bytes that a text needs at least when it is shortened.
const MIN_SHORTENED_BYTES: usize = SHORTENED.len() + HASH_DIGITS;

/// The name of a source, which consists of its owner and its own name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceName {
    owner: String,
    name: String,
}

impl SourceName {
    /// The name of an owner's source.
    pub fn new(owner: &str, name: &str) -> Self {
        Self { owner: owner.to_owned(), name: name.to_owned() }
    }

    /// The name on the server. The name of a source contains no dot, so two owners never have the same source.
    pub fn on_server(&self) -> String {
        format!("{}.{}", self.owner, self.name)
    }

    /// The id of a document: of the whole file, or of the part of the file with this key. An id that the server would
    /// refuse is shortened: first its key, and also its path if that leaves no room for a key.
    pub fn doc_id(&self, path: &str, key: Option<&str>) -> String {
        let id = |file: &str| format!("{}/{file}", self.on_server());
        let whole = match key {
            Some(key) => format!("{}{KEY}{key}", id(&escaped(path))),
            None => id(&escaped(path)),
        };
        if whole.len() <= MAX_ID_BYTES {
            return whole;
        }
        let file = id(&self.file(path));
        match key {
            Some(key) => {
                let room = MAX_ID_BYTES.saturating_sub(file.len() + KEY.len_utf8());
                format!("{file}{KEY}{}", shortened(key, room))
            }
            None => file,
        }
    }

    /// The escaped path of a file, by which its documents are known to be of the same file. A path that leaves no room
    /// for a key in an id is shortened.
    pub fn file(&self, path: &str) -> String {
        self.fitting(&escaped(path))
    }

    /// The escaped path of the file of a document, as from [`Self::file`]. `None` if the id does not belong to this
    /// source.
    pub fn file_of(&self, doc_id: &str) -> Option<String> {
        let path = doc_id.strip_prefix(&self.on_server())?.strip_prefix('/')?;
        // Of a file with a long path, some ids have room for all of it.
        Some(self.fitting(path.split_once(KEY).map_or(path, |(path, _)| path)))
    }

    fn fitting(&self, escaped: &str) -> String {
        let others = self.on_server().len() + '/'.len_utf8() + KEY.len_utf8() + MIN_SHORTENED_BYTES;
        shortened(escaped, MAX_ID_BYTES.saturating_sub(others))
    }
}

/// A text of at most this length, or of [`MIN_SHORTENED_BYTES`]. A longer one is cut, and ends with its hash.
fn shortened(text: &str, max_bytes: usize) -> String {
    if text.len() <= max_bytes {
        return text.to_owned();
    }
    let kept = &text[..text.floor_char_boundary(max_bytes.saturating_sub(MIN_SHORTENED_BYTES))];
    let hash = hex::encode(Sha256::digest(text.as_bytes()));
    format!("{kept}{SHORTENED}{}", &hash[..HASH_DIGITS])
}

/// The beginning of an escaped path that was shortened.
pub fn beginning_of_shortened(escaped: &str) -> Option<&str> {
    escaped.split_once(SHORTENED).map(|(beginning, _)| beginning)
}

/// Whether a source belongs to an owner, by its name on the server. The owner may contain dots: it ends at the last one.
pub fn belongs_to(source: &str, owner: &str) -> bool {
    source.rsplit_once('.').is_some_and(|(its_owner, _)| its_owner == owner)
}

/// The name of a source without its owner.
pub fn own_name(source: &str) -> &str {
    source.rsplit_once('.').map_or(source, |(_, name)| name)
}

/// Escapes a path for use in an id, so that it does not contain the separator.
pub fn escaped(path: &str) -> String {
    path.replace('%', "%25").replace(KEY, "%23")
}

/// Reverses [`escaped`].
pub fn unescaped(escaped: &str) -> String {
    escaped.replace("%23", "#").replace("%25", "%")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_id_has_the_owner_the_source_the_path_and_the_key() {
        let source = SourceName::new("handbook", "site");
        assert_eq!(source.on_server(), "handbook.site");
        assert_eq!(source.doc_id("docs/a.md", None), "handbook.site/docs/a.md");
        assert_eq!(source.doc_id("faq.csv", Some("7")), "handbook.site/faq.csv#7");
        assert_eq!(source.file_of("handbook.site/faq.csv#7").as_deref(), Some("faq.csv"));
        assert_eq!(source.file_of("handbook.sites/faq.csv"), None);
    }

    /// The server refuses longer ids, and documents that are there already must keep theirs.
    #[test]
    fn only_an_id_that_is_too_long_is_shortened() {
        let source = SourceName::new("handbook", "site");
        let cases = [
            ("a".repeat(400), None, false),
            ("a".repeat(400), Some("7".to_owned()), false),
            ("a".repeat(400), Some("k".repeat(200)), true),
            ("a".repeat(300), Some("k".repeat(197)), false),
            ("a".repeat(300), Some("k".repeat(198)), true),
            ("ü".repeat(200), Some("ü".repeat(100)), true),
            ("#".repeat(400), None, true),
            ("%".repeat(400), Some("7".to_owned()), true),
        ];
        for (path, key, is_shortened) in cases {
            let doc_id = source.doc_id(&path, key.as_deref());
            assert!(doc_id.len() <= MAX_ID_BYTES, "{doc_id}");
            assert_eq!(doc_id.contains(SHORTENED), is_shortened, "{doc_id}");
            assert_eq!(source.file_of(&doc_id), Some(source.file(&path)), "{doc_id}");
            let others = [(format!("{path}x"), key.clone()), (path, Some(format!("{}x", key.unwrap_or_default())))];
            for (path, key) in others {
                assert_ne!(source.doc_id(&path, key.as_deref()), doc_id);
            }
        }
    }

    #[test]
    fn an_owner_has_only_its_own_sources() {
        assert!(belongs_to("handbook.site", "handbook"));
        assert!(!belongs_to("handbook-2.site", "handbook"));
        assert!(!belongs_to("handbook", "handbook"));
        assert!(belongs_to("docs.example.com.site", "docs.example.com"));
        assert!(!belongs_to("docs.example.com.site", "docs"));
        assert_eq!(own_name("docs.example.com.site"), "site");
    }

    proptest! {
        #[test]
        fn two_files_never_share_a_document(
            one in "[a#%/~2-5]{1,6}",
            other in "[a#%/~2-5]{1,6}",
            key in proptest::option::of("[a#%0-9]{1,4}"),
        ) {
            let source = SourceName::new("o", "s");
            let doc_id = source.doc_id(&one, key.as_deref());
            let file = escaped(&one);
            prop_assert_eq!(source.file_of(&doc_id), Some(file.clone()));
            prop_assert_eq!(source.file(&one), file.as_str());
            prop_assert_eq!(beginning_of_shortened(&file), None);
            prop_assert_eq!(escaped(&one) == escaped(&other), one == other);
            prop_assert_eq!(unescaped(&file), one);
        }
    }
}

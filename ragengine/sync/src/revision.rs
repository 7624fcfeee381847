//! The revision that the server stores with each document. The next synchronisation compares it to detect unchanged
//! files.

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

/// The version of the parsers. Increase it when the same file results in different documents, so that all files are
/// read again.
const READER: u32 = 3;

/// A fingerprint of how the files of a source are read: the version of the parsers and the metadata of the source. If
/// it differs, the same file results in different documents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReaderFingerprint(String);

impl ReaderFingerprint {
    /// The fingerprint for a source with this metadata.
    pub fn of(metadata: &Map<String, Value>) -> Self {
        let hash = ragengine_client::content_hash(&READER.to_string(), metadata);
        Self(hash[..12].to_owned())
    }

    /// The revision to store with a document. Only the last document of a file contains the number of documents, so
    /// that an incomplete file is recognised.
    pub fn stored_revision(&self, revision: &str, place: Position) -> String {
        let count = match place {
            Position::Inner => 0,
            Position::Last { documents } => documents,
        };
        format!("{}:{count}:{}", self.0, bounded(revision))
    }

    /// The revision of a file from the stored revisions of its documents. `None` if documents are missing, or were read
    /// with another fingerprint.
    pub fn complete_file<'a>(&self, marks: &[Option<&'a str>]) -> Option<&'a str> {
        let marks: Vec<StoredRevision<'_>> =
            marks.iter().map(|mark| StoredRevision::parse((*mark)?)).collect::<Option<_>>()?;
        let first = marks.first()?;
        let are_alike = marks.iter().all(|mark| mark.fingerprint == self.0 && mark.revision == first.revision);
        let mut counts = marks.iter().filter(|mark| mark.documents > 0);
        let is_whole = counts.next().is_some_and(|mark| mark.documents == marks.len()) && counts.next().is_none();
        (are_alike && is_whole).then_some(first.revision)
    }
}

/// The position of a document in its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Position {
    /// Not the last document, or the file was not read completely.
    Inner,
    /// The last document.
    Last {
        /// The number of documents in the file.
        documents: usize,
    },
}

struct StoredRevision<'a> {
    fingerprint: &'a str,
    documents: usize,
    revision: &'a str,
}

impl<'a> StoredRevision<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let mut parts = text.splitn(3, ':');
        Some(Self { fingerprint: parts.next()?, documents: parts.next()?.parse().ok()?, revision: parts.next()? })
    }
}

/// Shortens a revision, because the server accepts at most 256 bytes. A longer revision is replaced by its hash, which
/// never equals the revision of the source, so the file is always read again.
fn bounded(revision: &str) -> String {
    if revision.len() <= 200 { revision.to_owned() } else { hex::encode(Sha256::digest(revision.as_bytes())) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fingerprint(metadata: Value) -> ReaderFingerprint {
        ReaderFingerprint::of(metadata.as_object().unwrap())
    }

    #[test]
    fn a_file_is_complete_when_its_last_document_has_their_number() {
        let fingerprint = fingerprint(json!({"team": "platform"}));
        let (inner, last) = (
            fingerprint.stored_revision("r1", Position::Inner),
            fingerprint.stored_revision("r1", Position::Last { documents: 2 }),
        );
        let alone = fingerprint.stored_revision("etag:\"a:b\"", Position::Last { documents: 1 });
        let other = fingerprint.stored_revision("r2", Position::Inner);
        let cases: [(&[Option<&str>], Option<&str>); 9] = [
            (&[Some(&alone)], Some("etag:\"a:b\"")),
            (&[Some(&inner), Some(&last)], Some("r1")),
            (&[Some(&inner)], None),
            (&[Some(&last)], None),
            (&[Some(&inner), Some(&inner), Some(&last)], None),
            (&[Some(&other), Some(&last)], None),
            (&[Some(&last), Some(&last)], None),
            (&[None, Some(&last)], None),
            (&[], None),
        ];
        for (marks, expected) in cases {
            assert_eq!(fingerprint.complete_file(marks), expected, "{marks:?}");
        }
    }

    #[test]
    fn other_metadata_of_the_source_changes_the_fingerprint() {
        let mark = fingerprint(json!({"team": "a"})).stored_revision("r", Position::Last { documents: 1 });
        assert_eq!(fingerprint(json!({"team": "b"})).complete_file(&[Some(&mark)]), None);
    }

    #[test]
    fn a_stored_revision_is_never_too_long_for_the_server() {
        let mark = fingerprint(json!({})).stored_revision(&"x".repeat(1000), Position::Last { documents: usize::MAX });
        assert!(mark.len() <= 256, "{}", mark.len());
    }
}

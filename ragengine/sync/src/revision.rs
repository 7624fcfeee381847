//! What the server keeps beside each document, so that the next synchronisation knows whether its file is the same.

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

/// Goes up when the same file would make other documents: all are read again then.
const READER: u32 = 2;

/// How the files of a source are read: another one makes other documents of the same file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading(String);

impl Reading {
    /// The reading of a source that adds this metadata.
    pub fn of(metadata: &Map<String, Value>) -> Self {
        let hash = ragengine_client::content_hash(&READER.to_string(), metadata);
        Self(hash[..12].to_owned())
    }

    /// What is kept beside a document of a file in this revision. Only the last document of a file says how many there are, so that a file
    /// of which not everything arrived is not taken for whole.
    pub fn mark(&self, revision: &str, place: Place) -> String {
        let count = match place {
            Place::Inner => 0,
            Place::Last { documents } => documents,
        };
        format!("{}:{count}:{}", self.0, bounded(revision))
    }

    /// The revision of a file, when the server has all of its documents in it, read like this.
    pub fn whole_file<'a>(&self, marks: &[Option<&'a str>]) -> Option<&'a str> {
        let marks: Vec<Mark<'_>> = marks.iter().map(|mark| Mark::parse((*mark)?)).collect::<Option<_>>()?;
        let first = marks.first()?;
        let are_alike = marks.iter().all(|mark| mark.reading == self.0 && mark.revision == first.revision);
        let mut counts = marks.iter().filter(|mark| mark.documents > 0);
        let is_whole = counts.next().is_some_and(|mark| mark.documents == marks.len()) && counts.next().is_none();
        (are_alike && is_whole).then_some(first.revision)
    }
}

/// Where a document stands in its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// More follow, or some of the file could not be read.
    Inner,
    /// It is the last.
    Last {
        /// How many documents the file made.
        documents: usize,
    },
}

struct Mark<'a> {
    reading: &'a str,
    documents: usize,
    revision: &'a str,
}

impl<'a> Mark<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let mut parts = text.splitn(3, ':');
        Some(Self { reading: parts.next()?, documents: parts.next()?.parse().ok()?, revision: parts.next()? })
    }
}

/// The server takes 256 bytes. A longer revision is kept by its hash: it is never equal to what the source says then, so the file is read again.
fn bounded(revision: &str) -> String {
    match revision.len() <= 200 {
        true => revision.to_owned(),
        false => hex::encode(Sha256::digest(revision.as_bytes())),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn reading(metadata: Value) -> Reading {
        Reading::of(metadata.as_object().unwrap())
    }

    #[test]
    fn a_file_is_whole_when_its_last_document_counts_what_is_there() {
        let reading = reading(json!({"team": "platform"}));
        let (inner, last) = (reading.mark("r1", Place::Inner), reading.mark("r1", Place::Last { documents: 2 }));
        let alone = reading.mark("etag:\"a:b\"", Place::Last { documents: 1 });
        let other = reading.mark("r2", Place::Inner);
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
            assert_eq!(reading.whole_file(marks), expected, "{marks:?}");
        }
    }

    #[test]
    fn other_metadata_of_the_source_is_another_reading() {
        let mark = reading(json!({"team": "a"})).mark("r", Place::Last { documents: 1 });
        assert_eq!(reading(json!({"team": "b"})).whole_file(&[Some(&mark)]), None);
    }

    #[test]
    fn a_mark_is_never_too_long_for_the_server() {
        let mark = reading(json!({})).mark(&"x".repeat(1000), Place::Last { documents: usize::MAX });
        assert!(mark.len() <= 256, "{}", mark.len());
    }
}

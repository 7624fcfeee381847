//! What left a source leaves the index, unless that looks like an accident.

use std::collections::HashSet;

use crate::known::Known;
use crate::revision::Reading;

/// What of a source is still there.
#[derive(Debug, Default)]
pub struct Staying {
    /// Escaped paths of all files that are there, whether they could be read or not.
    files: HashSet<String>,
    /// Escaped paths of files that were not read, or not wholly: all of their documents stay.
    untouched: HashSet<String>,
    /// Escaped paths of folders (or files) that could not be listed: whatever was below them stays.
    unlisted: HashSet<String>,
    /// Documents of files that were read.
    documents: HashSet<String>,
    /// The revisions of files that were sent.
    sent: HashSet<String>,
}

impl Staying {
    /// A file is there and its documents stay as they are.
    pub fn file(&mut self, escaped_path: String) {
        self.untouched.insert(escaped_path.clone());
        self.files.insert(escaped_path);
    }

    /// A folder or a file could not be listed. The empty path is the whole source.
    pub fn below(&mut self, escaped_path: String) {
        self.unlisted.insert(escaped_path);
    }

    /// A document was read of a file. False when another file has made it already.
    pub fn document(&mut self, doc_id: String) -> bool {
        self.documents.insert(doc_id)
    }

    /// A file was read to its end.
    pub fn read(&mut self, escaped_path: String, revision: &str) {
        self.files.insert(escaped_path);
        self.sent.insert(revision.to_owned());
    }

    fn keeps(&self, escaped_path: &str, doc_id: &str) -> bool {
        self.untouched.contains(escaped_path) || self.documents.contains(doc_id) || self.is_unlisted(escaped_path)
    }

    fn has(&self, escaped_path: &str) -> bool {
        self.files.contains(escaped_path) || self.is_unlisted(escaped_path)
    }

    /// Looks for each folder that the path is in, however many could not be listed.
    fn is_unlisted(&self, escaped_path: &str) -> bool {
        let mut folders =
            escaped_path.match_indices('/').map(|(end, _)| &escaped_path[..end]).chain(["", escaped_path]);
        !self.unlisted.is_empty() && folders.any(|folder| self.unlisted.contains(folder))
    }
}

/// Whether a source that looks as if it had been lost may delete its documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deletions {
    /// Not without being confirmed.
    Guarded,
    /// Somebody has confirmed it.
    Confirmed,
}

/// What becomes of the documents that are not in the source any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Leaving {
    /// They are deleted.
    Delete(Vec<String>),
    /// So many would be, when somebody confirms it.
    HeldBack(u64),
}

/// Which documents leave. A source that is suddenly empty, or has lost more than half of its files, keeps them until that is confirmed: a mount
/// that broke must not empty an index. A file whose content is there under another path is not lost.
pub fn leaving(known: &Known, staying: &Staying, reading: &Reading, deletions: Deletions) -> Leaving {
    let gone =
        known.files().flat_map(|(path, doc_ids)| doc_ids.iter().filter(move |doc_id| !staying.keeps(path, doc_id)));
    let gone: Vec<String> = gone.chain(known.strangers()).cloned().collect();
    match deletions == Deletions::Guarded && looks_like_an_accident(known, staying, reading) {
        true => Leaving::HeldBack(gone.len() as u64),
        false => Leaving::Delete(gone),
    }
}

fn looks_like_an_accident(known: &Known, staying: &Staying, reading: &Reading) -> bool {
    let revisions = known.revisions(reading);
    let is_moved = |path: &str| revisions.get(path).is_some_and(|revision| staying.sent.contains(*revision));
    let files = known.files().count();
    let lost = known.files().filter(|(path, _)| !staying.has(path) && !is_moved(path)).count();
    lost > 0 && (staying.files.is_empty() || lost * 2 > files)
}

#[cfg(test)]
mod tests {
    use ragengine_client::wire::SourceDocument;
    use serde_json::Map;

    use super::*;
    use crate::identity::SourceName;
    use crate::revision::Place;

    fn reading() -> Reading {
        Reading::of(&Map::new())
    }

    /// Files `0`, `1`, …, each of one document, in a revision of its own.
    fn known(files: usize) -> Known {
        let source = SourceName::new("o", "s");
        let document = |number: usize| SourceDocument {
            doc_id: source.doc_id(&number.to_string(), None),
            content_hash: String::new(),
            revision: Some(reading().mark(&format!("r{number}"), Place::Last { documents: 1 })),
        };
        Known::of(&source, (0..files).map(document).collect())
    }

    fn staying(files: &[&str], sent: &[(&str, &str)]) -> Staying {
        let mut staying = Staying::default();
        files.iter().for_each(|path| staying.file((*path).to_owned()));
        for (path, revision) in sent {
            staying.document(format!("o.s/{path}"));
            staying.read((*path).to_owned(), revision);
        }
        staying
    }

    #[test]
    fn more_than_half_is_held_back_until_it_is_confirmed() {
        let delete = |ids: &[&str]| Leaving::Delete(ids.iter().map(|id| format!("o.s/{id}")).collect());
        let cases = [
            ("nothing left", known(2), staying(&["0", "1"], &[]), delete(&[])),
            ("a half left", known(2), staying(&["0"], &[]), delete(&["1"])),
            ("more than a half left", known(3), staying(&["0"], &[]), Leaving::HeldBack(2)),
            ("all left", known(1), staying(&[], &[]), Leaving::HeldBack(1)),
            ("nothing was there", known(0), staying(&[], &[]), delete(&[])),
            ("all moved", known(2), staying(&[], &[("a/0", "r0"), ("a/1", "r1")]), delete(&["0", "1"])),
            ("all are others", known(2), staying(&[], &[("a", "x"), ("b", "y")]), Leaving::HeldBack(2)),
            ("one changed", known(2), staying(&["1"], &[("0", "x")]), delete(&[])),
        ];
        for (what, known, staying, expected) in cases {
            assert_eq!(leaving(&known, &staying, &reading(), Deletions::Guarded), expected, "{what}");
            let confirmed = leaving(&known, &staying, &reading(), Deletions::Confirmed);
            assert!(matches!(confirmed, Leaving::Delete(_)), "{what}");
        }
    }

    #[test]
    fn a_row_that_left_a_file_leaves_alone() {
        let source = SourceName::new("o", "s");
        let rows = ["1", "2", "3"].map(|key| SourceDocument {
            doc_id: source.doc_id("faq.csv", Some(key)),
            content_hash: String::new(),
            revision: None,
        });
        let known = Known::of(&source, rows.to_vec());
        let mut staying = Staying::default();
        staying.document(source.doc_id("faq.csv", Some("2")));
        staying.read("faq.csv".to_owned(), "r");
        let expected = ["1", "3"].map(|key| source.doc_id("faq.csv", Some(key))).to_vec();
        assert_eq!(leaving(&known, &staying, &reading(), Deletions::Guarded), Leaving::Delete(expected));
    }

    #[test]
    fn what_could_not_be_listed_stays() {
        for (unlisted, expected) in [("a", vec!["o.s/ab"]), ("", vec![]), ("a/1", vec!["o.s/a/2", "o.s/ab"])] {
            let source = SourceName::new("o", "s");
            let document = |path: &str| SourceDocument {
                doc_id: source.doc_id(path, None),
                content_hash: String::new(),
                revision: None,
            };
            let known = Known::of(&source, ["a/1", "a/2", "ab"].map(document).to_vec());
            let mut staying = Staying::default();
            staying.below(unlisted.to_owned());
            let expected = Leaving::Delete(expected.into_iter().map(str::to_owned).collect());
            assert_eq!(leaving(&known, &staying, &reading(), Deletions::Confirmed), expected, "{unlisted}");
        }
    }

    #[test]
    fn what_no_file_can_have_made_leaves() {
        let stranger = SourceDocument { doc_id: "put in by hand".into(), content_hash: String::new(), revision: None };
        let known = Known::of(&SourceName::new("o", "s"), vec![stranger]);
        let leaving = leaving(&known, &Staying::default(), &reading(), Deletions::Guarded);
        assert_eq!(leaving, Leaving::Delete(vec!["put in by hand".to_owned()]));
    }
}

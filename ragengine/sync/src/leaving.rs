//! What left a source leaves the index, unless that looks like an accident.

use std::collections::{HashMap, HashSet};

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
    /// Files that were read, by their escaped paths.
    read: HashMap<String, FileRead>,
    /// The revisions of files that were sent.
    sent: HashSet<String>,
}

/// What came out of a file that was read to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRead {
    /// Its revision.
    pub revision: String,
    /// How many documents it has.
    pub documents: usize,
    /// Whether all of it could be read. A line that was cut off in the middle could not.
    pub is_whole: bool,
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
    pub fn read(&mut self, escaped_path: String, read: FileRead) {
        self.files.insert(escaped_path.clone());
        self.sent.insert(read.revision.clone());
        self.read.insert(escaped_path, read);
    }

    fn keeps(&self, escaped_path: &str, doc_id: &str) -> bool {
        self.untouched.contains(escaped_path) || self.documents.contains(doc_id) || self.is_unlisted(escaped_path)
    }

    fn has(&self, escaped_path: &str) -> bool {
        self.files.contains(escaped_path) || self.is_unlisted(escaped_path)
    }

    /// Whether a file is there that has nothing in it.
    fn is_empty(&self, escaped_path: &str) -> bool {
        self.read.get(escaped_path).is_some_and(|read| read.documents == 0)
    }

    /// Whether a file that had so many documents looks as if it had been cut off.
    fn looks_cut_off(&self, escaped_path: &str, documents_before: usize) -> bool {
        self.read.get(escaped_path).is_some_and(|read| !read.is_whole || read.documents * 2 < documents_before)
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

impl Deletions {
    /// Guarded, unless they are confirmed.
    pub fn guarded_unless(are_confirmed: bool) -> Self {
        if are_confirmed { Self::Confirmed } else { Self::Guarded }
    }
}

/// What happens to the documents that are not in the source any more.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Leaving {
    /// Those that are deleted.
    pub deleted: Vec<String>,
    /// How many more would be, if somebody confirmed it.
    pub held_back: u64,
    /// The files that look cut off, by their escaped paths, in order.
    pub cut_off: Vec<CutOff>,
}

/// A file that is there and has lost so much that it may be broken. Its documents stay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CutOff {
    /// Its escaped path.
    pub escaped_path: String,
    /// How many documents it had before.
    pub before: usize,
    /// How many of them are held back.
    pub held_back: usize,
}

/// Which documents leave. Two things keep them until that is confirmed. A source that is suddenly empty, or has lost more than half of its files,
/// keeps all: a mount that broke must not empty an index. A file that has no documents any more, or under half of those that it had, or could not
/// be read in some place, keeps its own: it may be half written. A file whose content is there under another path is not lost.
pub fn leaving(known: &Known, staying: &Staying, reading: &Reading, deletions: Deletions) -> Leaving {
    let guarded = deletions == Deletions::Guarded;
    let losses = Losses::of(known, staying, reading);
    let keeps_all = guarded && losses.look_like_an_accident(staying);
    let mut leaving = Leaving::default();
    for (path, doc_ids) in known.files() {
        let gone: Vec<&String> = doc_ids.iter().filter(|doc_id| !staying.keeps(path, doc_id)).collect();
        let is_cut_off = guarded && !losses.is_moved(path, staying) && staying.looks_cut_off(path, doc_ids.len());
        if is_cut_off && !gone.is_empty() {
            let (escaped_path, before, held_back) = (path.to_owned(), doc_ids.len(), gone.len());
            leaving.cut_off.push(CutOff { escaped_path, before, held_back });
        }
        match is_cut_off || keeps_all {
            true => leaving.held_back += gone.len() as u64,
            false => leaving.deleted.extend(gone.into_iter().cloned()),
        }
    }
    match keeps_all {
        true => leaving.held_back += known.strangers().len() as u64,
        false => leaving.deleted.extend_from_slice(known.strangers()),
    }
    leaving
}

/// What a source has lost.
struct Losses<'a> {
    /// The revisions that its files had, by their escaped paths.
    revisions: HashMap<&'a str, &'a str>,
    files_before: usize,
    /// Files that are gone, or empty, and are nowhere else.
    lost: usize,
}

impl<'a> Losses<'a> {
    fn of(known: &'a Known, staying: &Staying, reading: &Reading) -> Self {
        let mut losses = Self { revisions: known.revisions(reading), files_before: known.files().count(), lost: 0 };
        let is_lost = |path: &str| (!staying.has(path) || staying.is_empty(path)) && !losses.is_moved(path, staying);
        losses.lost = known.files().filter(|(path, _)| is_lost(path)).count();
        losses
    }

    /// Whether what a file was is there under another path.
    fn is_moved(&self, path: &str, staying: &Staying) -> bool {
        self.revisions.get(path).is_some_and(|revision| staying.sent.contains(*revision))
    }

    fn look_like_an_accident(&self, staying: &Staying) -> bool {
        self.lost > 0 && (staying.files.is_empty() || self.lost * 2 > self.files_before)
    }
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
            staying.read((*path).to_owned(), read(revision, 1));
        }
        staying
    }

    fn read(revision: &str, documents: usize) -> FileRead {
        FileRead { revision: revision.to_owned(), documents, is_whole: true }
    }

    fn delete(paths: &[&str]) -> Leaving {
        let deleted = paths.iter().map(|path| format!("o.s/{path}")).collect();
        Leaving { deleted, ..Leaving::default() }
    }

    fn held_back(documents: u64) -> Leaving {
        Leaving { held_back: documents, ..Leaving::default() }
    }

    /// What the server has of files that make a document of each row.
    fn known_rows(files: &[(&str, usize)]) -> Known {
        let source = SourceName::new("o", "s");
        let rows = files.iter().flat_map(|(path, rows)| (1..=*rows).map(move |row| (*path, row)));
        let document = |(path, row): (&str, usize)| SourceDocument {
            doc_id: source.doc_id(path, Some(&row.to_string())),
            content_hash: String::new(),
            revision: None,
        };
        Known::of(&source, rows.map(document).collect())
    }

    /// A file of which the first rows are there.
    fn first_rows(path: &str, rows: usize, is_whole: bool) -> Staying {
        let mut staying = Staying::default();
        for row in 1..=rows {
            staying.document(SourceName::new("o", "s").doc_id(path, Some(&row.to_string())));
        }
        staying.read(path.to_owned(), FileRead { is_whole, ..read("new", rows) });
        staying
    }

    #[test]
    fn more_than_half_is_held_back_until_it_is_confirmed() {
        let cases = [
            ("nothing left", known(2), staying(&["0", "1"], &[]), delete(&[])),
            ("a half left", known(2), staying(&["0"], &[]), delete(&["1"])),
            ("more than a half left", known(3), staying(&["0"], &[]), held_back(2)),
            ("all left", known(1), staying(&[], &[]), held_back(1)),
            ("nothing was there", known(0), staying(&[], &[]), delete(&[])),
            ("all moved", known(2), staying(&[], &[("a/0", "r0"), ("a/1", "r1")]), delete(&["0", "1"])),
            ("all are others", known(2), staying(&[], &[("a", "x"), ("b", "y")]), held_back(2)),
            ("one changed", known(2), staying(&["1"], &[("0", "x")]), delete(&[])),
        ];
        for (what, known, staying, expected) in cases {
            assert_eq!(leaving(&known, &staying, &reading(), Deletions::Guarded), expected, "{what}");
            let confirmed = leaving(&known, &staying, &reading(), Deletions::Confirmed);
            assert_eq!((confirmed.held_back, confirmed.cut_off), (0, vec![]), "{what}");
        }
    }

    #[test]
    fn a_file_that_looks_cut_off_keeps_its_documents_until_that_is_confirmed() {
        let cases = [
            ("a row left", 3, 2, true, 1, 0),
            ("a half left", 4, 2, true, 2, 0),
            ("more than a half left", 3, 1, true, 0, 2),
            ("only the header is there", 3, 0, true, 0, 3),
            ("it ends within a line", 10, 9, false, 0, 1),
            ("a line cannot be read, and nothing is missing", 3, 3, false, 0, 0),
        ];
        for (what, before, rows, is_whole, deleted, held_back) in cases {
            // Other files are there, so that the source as a whole is well.
            let known = known_rows(&[("faq.csv", before), ("other.csv", 1), ("third.csv", 1)]);
            let mut staying = first_rows("faq.csv", rows, is_whole);
            staying.file("other.csv".to_owned());
            staying.file("third.csv".to_owned());
            let found = leaving(&known, &staying, &reading(), Deletions::Guarded);
            assert_eq!((found.deleted.len(), found.held_back), (deleted, held_back), "{what}");
            let named: Vec<_> = found.cut_off.iter().map(|file| (file.escaped_path.as_str(), file.before)).collect();
            let expected = if held_back > 0 { vec![("faq.csv", before)] } else { vec![] };
            assert_eq!(named, expected, "{what}");
            let confirmed = leaving(&known, &staying, &reading(), Deletions::Confirmed);
            assert_eq!((confirmed.deleted.len(), confirmed.held_back), (before - rows, 0), "{what}");
        }
    }

    #[test]
    fn files_that_were_emptied_count_as_lost() {
        let mut staying = staying(&["2"], &[]);
        staying.read("0".to_owned(), read("new", 0));
        let (known, guarded) = (known(4), Deletions::Guarded);
        let found = leaving(&known, &staying, &reading(), guarded);
        // 1 and 3 are gone, 0 is empty: three of four.
        assert_eq!((found.deleted, found.held_back, found.cut_off.len()), (vec![], 3, 1));
    }

    #[test]
    fn a_file_that_was_emptied_into_another_is_not_cut_off() {
        let mut staying = staying(&["1", "2"], &[("a/0", "r0")]);
        staying.read("0".to_owned(), read("new", 0));
        assert_eq!(leaving(&known(3), &staying, &reading(), Deletions::Guarded), delete(&["0"]));
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
            assert_eq!(leaving(&known, &staying, &reading(), Deletions::Confirmed).deleted, expected, "{unlisted}");
        }
    }

    #[test]
    fn what_no_file_can_have_made_leaves() {
        let stranger = SourceDocument { doc_id: "put in by hand".into(), content_hash: String::new(), revision: None };
        let known = Known::of(&SourceName::new("o", "s"), vec![stranger]);
        let leaving = leaving(&known, &Staying::default(), &reading(), Deletions::Guarded);
        assert_eq!(leaving.deleted, ["put in by hand"]);
    }
}

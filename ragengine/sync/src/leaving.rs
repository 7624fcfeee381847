//! What left a source leaves the index, unless that looks like an accident.

use std::collections::{HashMap, HashSet};

use ragengine_sources::{Extent, FileError, identifies_content};

use crate::identity::escaped;
use crate::known::Known;
use crate::revision::Reading;

/// The path of the folder that contains the whole source.
const WHOLE_SOURCE: &str = "";

/// What of a source is still there.
#[derive(Debug, Default)]
pub struct Staying {
    /// Escaped paths of all files that are there, whether they could be read or not.
    files: HashSet<String>,
    /// Escaped paths of files that were not listed or read, or not wholly: all of their documents stay.
    untouched: HashSet<String>,
    /// Escaped paths of folders (or files) that could not be listed: whatever was below them stays.
    unlisted: HashSet<String>,
    /// Documents of files that were read.
    documents: HashSet<String>,
    /// Files that were read, by their escaped paths.
    read: HashMap<String, FileRead>,
    /// The revisions that identify the contents of files that were read. A file that had one of them before was moved.
    contents: HashSet<String>,
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

    /// An error of the listing. The documents of the part that it is about stay. It does not count as a file that is there: a source without files
    /// is suspicious.
    pub fn not_listed(&mut self, error: &FileError) {
        match error.extent {
            Extent::Itself => self.untouched.insert(escaped(&error.path)),
            Extent::Below => self.unlisted.insert(escaped(error.path.strip_suffix('/').unwrap_or(&error.path))),
            Extent::Everything => self.unlisted.insert(WHOLE_SOURCE.to_owned()),
        };
    }

    /// A document was read of a file. False when another file has made it already.
    pub fn document(&mut self, doc_id: String) -> bool {
        self.documents.insert(doc_id)
    }

    /// A file was read to its end.
    pub fn read(&mut self, escaped_path: String, read: FileRead) {
        self.files.insert(escaped_path.clone());
        if read.documents > 0 && identifies_content(&read.revision) {
            self.contents.insert(read.revision.clone());
        }
        self.read.insert(escaped_path, read);
    }

    fn keeps(&self, escaped_path: &str, doc_id: &str) -> bool {
        self.untouched.contains(escaped_path) || self.documents.contains(doc_id) || self.is_unlisted(escaped_path)
    }

    fn has(&self, escaped_path: &str) -> bool {
        self.files.contains(escaped_path) || self.untouched.contains(escaped_path) || self.is_unlisted(escaped_path)
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
            escaped_path.match_indices('/').map(|(end, _)| &escaped_path[..end]).chain([WHOLE_SOURCE, escaped_path]);
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
        self.revisions.get(path).is_some_and(|revision| staying.contents.contains(*revision))
    }

    fn look_like_an_accident(&self, staying: &Staying) -> bool {
        self.lost > 0 && (staying.files.is_empty() || self.lost * 2 > self.files_before)
    }
}

#[cfg(test)]
mod tests;

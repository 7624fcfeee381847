//! Decides which documents are deleted because they are no longer in the source. If much is missing at once, nothing is
//! deleted without a confirmation.

use std::collections::{HashMap, HashSet};

use ragengine_sources::{Extent, FileError, identifies_content};

use crate::identity::{SourceName, beginning_of_shortened, escaped};
use crate::indexed_files::{IndexedDocument, IndexedFiles};
use crate::revision::ReaderFingerprint;

/// The path of the folder that contains the whole source.
const WHOLE_SOURCE: &str = "";

/// The files and documents that a source has now.
#[derive(Debug, Default)]
pub struct CurrentFiles {
    /// Escaped paths of all files that exist, readable or not.
    files: HashSet<String>,
    /// Escaped paths of files that were not read completely, or did not change: all of their documents are kept.
    untouched: HashSet<String>,
    /// Escaped paths of folders (or files) that could not be listed: all documents below them are kept.
    unlisted: HashSet<String>,
    /// Ids of the documents of files that were read.
    documents: HashSet<String>,
    /// Files that were read, by their escaped paths.
    read: HashMap<String, FileRead>,
    /// Revisions of the files that were read, if they identify the content. A missing file that had one of them was
    /// moved.
    contents: HashSet<String>,
}

/// The result of a file that was read to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRead {
    /// The revision of the file.
    pub revision: String,
    /// The number of documents in the file.
    pub documents: usize,
    /// Whether the whole file could be parsed. It is `false` if, for example, its last line is truncated.
    pub is_whole: bool,
}

impl CurrentFiles {
    /// Records that a file exists, and that its documents are kept.
    pub fn file(&mut self, escaped_path: String) {
        self.untouched.insert(escaped_path.clone());
        self.files.insert(escaped_path);
    }

    /// Records an error of the listing. The documents of that part of the source are kept. The entry does not count as
    /// an existing file, because a source without any readable file may be broken.
    pub fn not_listed(&mut self, source: &SourceName, error: &FileError) {
        match error.extent {
            Extent::Itself => self.untouched.insert(source.file(&error.path)),
            Extent::Below => self.unlisted.insert(escaped(error.path.strip_suffix('/').unwrap_or(&error.path))),
            Extent::Everything => self.unlisted.insert(WHOLE_SOURCE.to_owned()),
        };
    }

    /// Records a document that was read. Returns `false` if its id was recorded before.
    pub fn document(&mut self, doc_id: String) -> bool {
        self.documents.insert(doc_id)
    }

    /// Records that a file was read to its end.
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

    /// Whether a file exists and has no documents.
    fn is_empty(&self, escaped_path: &str) -> bool {
        self.read.get(escaped_path).is_some_and(|read| read.documents == 0)
    }

    /// Whether a file that had so many documents may be truncated.
    fn looks_truncated(&self, escaped_path: &str, documents_before: usize) -> bool {
        self.read.get(escaped_path).is_some_and(|read| !read.is_whole || read.documents * 2 < documents_before)
    }

    /// Whether the path is in a folder that could not be listed. Looks up each parent folder of the path, so the cost
    /// does not depend on the number of unlisted folders, except for a shortened path.
    fn is_unlisted(&self, escaped_path: &str) -> bool {
        let mut folders =
            escaped_path.match_indices('/').map(|(end, _)| &escaped_path[..end]).chain([WHOLE_SOURCE, escaped_path]);
        !self.unlisted.is_empty()
            && (folders.any(|folder| self.unlisted.contains(folder)) || self.may_be_unlisted(escaped_path))
    }

    /// Whether the rest of a shortened path could lead into a folder that could not be listed.
    fn may_be_unlisted(&self, escaped_path: &str) -> bool {
        beginning_of_shortened(escaped_path)
            .is_some_and(|beginning| self.unlisted.iter().any(|folder| folder.starts_with(beginning)))
    }
}

/// Whether documents may be deleted although the source may be broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeletionMode {
    /// Suspicious deletions are held back until they are confirmed.
    Guarded,
    /// The same after a synchronisation that held deletions back. That one sent the source's new files, so half of the
    /// files is no measure any more: all deletions are held back.
    HeldBackBefore,
    /// The user has confirmed the deletions.
    Confirmed,
}

/// The documents that are no longer in the source.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeletionPlan {
    /// Ids of the documents to delete.
    pub deleted: Vec<String>,
    /// The number of documents whose deletion needs a confirmation.
    pub held_back: u64,
    /// The files that may be truncated, ordered by path.
    pub truncated: Vec<TruncatedFile>,
}

impl DeletionPlan {
    /// The ids of the documents that this plan holds back, given the plan that holds nothing back.
    pub fn held_back_ids<'a>(&self, confirmed: &'a Self) -> Vec<&'a str> {
        let deleted: HashSet<&str> = self.deleted.iter().map(String::as_str).collect();
        confirmed.deleted.iter().map(String::as_str).filter(|doc_id| !deleted.contains(doc_id)).collect()
    }
}

/// A file that may be truncated. Its documents are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TruncatedFile {
    /// The escaped path of the file.
    pub escaped_path: String,
    /// The number of documents that it had before.
    pub before: usize,
    /// The number of those documents that are missing now.
    pub held_back: usize,
}

/// Decides which documents are deleted. Two rules hold deletions back until they are confirmed:
///
/// - If the source is suddenly empty, or has lost more than half of its files, all documents are kept: a broken mount
///   must not empty an index. The next synchronisations keep them too, however many new files there are.
/// - If a file has no documents any more, has fewer than half of them, or has parse errors, its documents are kept: it
///   may still be being written.
///
/// A file whose content now has another path is moved, not lost.
pub fn plan_deletions(
    indexed: &IndexedFiles,
    current: &CurrentFiles,
    fingerprint: &ReaderFingerprint,
    mode: DeletionMode,
) -> DeletionPlan {
    let guarded = mode != DeletionMode::Confirmed;
    let losses = Losses::of(indexed, current, fingerprint);
    let keeps_all = guarded && losses.look_like_an_accident(current, mode);
    let mut plan = DeletionPlan::default();
    for (path, documents) in indexed.files() {
        let doc_ids = documents.iter().map(IndexedDocument::doc_id);
        let gone: Vec<&str> = doc_ids.filter(|doc_id| !current.keeps(path, doc_id)).collect();
        let is_truncated = guarded && !losses.is_moved(path, current) && current.looks_truncated(path, documents.len());
        if is_truncated && !gone.is_empty() {
            let (escaped_path, before, held_back) = (path.to_owned(), documents.len(), gone.len());
            plan.truncated.push(TruncatedFile { escaped_path, before, held_back });
        }
        if is_truncated || keeps_all {
            plan.held_back += gone.len() as u64;
        } else {
            plan.deleted.extend(gone.into_iter().map(str::to_owned));
        }
    }
    if keeps_all {
        plan.held_back += indexed.unrelated().len() as u64;
    } else {
        plan.deleted.extend_from_slice(indexed.unrelated());
    }
    plan
}

/// The files that a source has lost.
struct Losses<'a> {
    /// The previous revisions of its files, by their escaped paths.
    revisions: HashMap<&'a str, &'a str>,
    files_before: usize,
    /// The number of files that are missing or empty, and were not moved.
    lost: usize,
}

impl<'a> Losses<'a> {
    fn of(indexed: &'a IndexedFiles, current: &CurrentFiles, fingerprint: &ReaderFingerprint) -> Self {
        let mut losses =
            Self { revisions: indexed.revisions(fingerprint), files_before: indexed.files().count(), lost: 0 };
        let is_lost = |path: &str| (!current.has(path) || current.is_empty(path)) && !losses.is_moved(path, current);
        losses.lost = indexed.files().filter(|(path, _)| is_lost(path)).count();
        losses
    }

    /// Whether the previous content of a file now has another path.
    fn is_moved(&self, path: &str, current: &CurrentFiles) -> bool {
        self.revisions.get(path).is_some_and(|revision| current.contents.contains(*revision))
    }

    fn look_like_an_accident(&self, current: &CurrentFiles, mode: DeletionMode) -> bool {
        let were_held_back = mode == DeletionMode::HeldBackBefore;
        self.lost > 0 && (were_held_back || current.files.is_empty() || self.lost * 2 > self.files_before)
    }
}

#[cfg(test)]
mod tests;

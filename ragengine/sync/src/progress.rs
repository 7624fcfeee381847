//! The progress of a source, and the errors of its files.

use std::collections::HashSet;

use ragengine_client::wire::sources::MAX_ERRORS;
use ragengine_client::wire::{self, PutSourceSync, SyncPhase};
use ragengine_sources::{Extent, FileError};

/// The progress and the errors of one source.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SyncProgress {
    total: u64,
    done: u64,
    errors: Vec<wire::FileError>,
    /// The paths of all files with errors. An error of the whole source is stored by its message, because a source may
    /// have several.
    failed: HashSet<String>,
    is_complete: bool,
}

impl SyncProgress {
    /// The state before the first of so many files.
    pub fn of(files: usize) -> Self {
        Self { total: files as u64, is_complete: true, ..Self::default() }
    }

    /// Counts a file as processed.
    pub fn file_done(&mut self) {
        self.done += 1;
    }

    /// Adds an error of the listing. An entry that can never be read is part of the revision, like a file that cannot
    /// be read. Other errors make the revision incomplete: the next synchronisation may succeed.
    pub fn not_listed(&mut self, error: &FileError) {
        match error.extent {
            Extent::Itself => self.unreadable(&error.path, &error.message),
            Extent::Below => self.missed(&error.path, &error.message),
            Extent::Everything => {
                self.add(&error.message, &error.path, &error.message);
                self.is_complete = false;
            }
        }
    }

    /// Adds the error of a file that arrived and cannot be read. It does not make the revision incomplete. Only the
    /// first error of a file is kept.
    pub fn unreadable(&mut self, path: &str, message: &str) {
        self.add(path, path, message);
    }

    fn add(&mut self, key: &str, path: &str, message: &str) {
        if self.failed.insert(key.to_owned()) && self.errors.len() < MAX_ERRORS {
            self.errors.push(wire::FileError::shortened(path, message));
        }
    }

    /// Adds the error of a file that did not arrive, or that the server refused: the index does not hold the revision.
    pub fn missed(&mut self, path: &str, message: &str) {
        self.unreadable(path, message);
        self.is_complete = false;
    }

    /// Whether every file arrived, and the server accepted all documents.
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// The number of files with errors.
    pub fn error_count(&self) -> u64 {
        self.failed.len() as u64
    }

    /// The record for the server.
    pub fn record(&self, sync_id: &str, phase: SyncPhase) -> PutSourceSync {
        PutSourceSync {
            done: self.done,
            total: self.total,
            error_count: self.error_count(),
            errors: self.errors.clone(),
            ..PutSourceSync::new(sync_id, phase)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_counted_and_the_first_are_kept() {
        let mut progress = SyncProgress::of(200);
        (0..150).for_each(|number| progress.unreadable(&format!("{number}.md"), "broken"));
        progress.file_done();
        assert!(progress.is_complete());
        let record = progress.record("a", SyncPhase::Running);
        assert_eq!((record.done, record.total, record.error_count, record.errors.len()), (1, 200, 150, MAX_ERRORS));
        progress.unreadable("0.md", "it is broken elsewhere, too");
        assert_eq!(progress.error_count(), 150);
        progress.missed("x", "no connection");
        assert!(!progress.is_complete());
    }

    #[test]
    fn only_an_entry_that_can_never_be_read_leaves_the_revision_complete() {
        let error = |extent, message: &str| FileError { path: "/".into(), message: message.into(), extent };
        for (extent, is_complete) in [(Extent::Itself, true), (Extent::Below, false), (Extent::Everything, false)] {
            let mut progress = SyncProgress::of(1);
            progress.not_listed(&error(extent, "no"));
            assert_eq!((progress.is_complete(), progress.error_count()), (is_complete, 1), "{extent:?}");
        }
        let mut progress = SyncProgress::of(1);
        for message in ["one sitemap", "another", "one sitemap"] {
            progress.not_listed(&error(Extent::Everything, message));
        }
        assert_eq!(progress.error_count(), 2, "each sitemap is named");
    }
}

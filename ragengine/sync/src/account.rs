//! How far a source is, and which of its files could not be read.

use std::collections::HashSet;

use ragengine_client::wire::sources::MAX_ERRORS;
use ragengine_client::wire::{self, PutSourceSync, SyncPhase};
use ragengine_sources::{Extent, FileError};

/// Counts the files of one source.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Account {
    total: u64,
    done: u64,
    errors: Vec<wire::FileError>,
    /// The paths of all files with errors. An error of the whole source is stored by its message, because there may be several.
    failed: HashSet<String>,
    is_complete: bool,
}

impl Account {
    /// The source has so many files.
    pub fn of(files: usize) -> Self {
        Self { total: files as u64, is_complete: true, ..Self::default() }
    }

    /// A file has been dealt with.
    pub fn file_done(&mut self) {
        self.done += 1;
    }

    /// An error of the listing. An entry that can never be read is a part of the revision, like a file that cannot be read. Everything else is
    /// missing: the next synchronisation may find it.
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

    /// A file arrived and cannot be read: it is as much a part of the revision as the others. A file has one error, whatever is wrong with it.
    pub fn unreadable(&mut self, path: &str, message: &str) {
        self.add(path, path, message);
    }

    fn add(&mut self, what: &str, path: &str, message: &str) {
        if self.failed.insert(what.to_owned()) && self.errors.len() < MAX_ERRORS {
            self.errors.push(wire::FileError::shortened(path, message));
        }
    }

    /// A file did not arrive, or the server did not take it: the index does not hold the revision.
    pub fn missed(&mut self, path: &str, message: &str) {
        self.unreadable(path, message);
        self.is_complete = false;
    }

    /// Whether every file arrived, and the server took what could be read.
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// How many files had an error.
    pub fn error_count(&self) -> u64 {
        self.failed.len() as u64
    }

    /// What is told to the server.
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
        let mut account = Account::of(200);
        (0..150).for_each(|number| account.unreadable(&format!("{number}.md"), "broken"));
        account.file_done();
        assert!(account.is_complete());
        let record = account.record("a", SyncPhase::Running);
        assert_eq!((record.done, record.total, record.error_count, record.errors.len()), (1, 200, 150, MAX_ERRORS));
        account.unreadable("0.md", "it is broken elsewhere, too");
        assert_eq!(account.error_count(), 150);
        account.missed("x", "no connection");
        assert!(!account.is_complete());
    }

    #[test]
    fn only_an_entry_that_can_never_be_read_lets_the_revision_move() {
        let error = |extent, message: &str| FileError { path: "/".into(), message: message.into(), extent };
        for (extent, is_complete) in [(Extent::Itself, true), (Extent::Below, false), (Extent::Everything, false)] {
            let mut account = Account::of(1);
            account.not_listed(&error(extent, "no"));
            assert_eq!((account.is_complete(), account.error_count()), (is_complete, 1), "{extent:?}");
        }
        let mut account = Account::of(1);
        for message in ["one sitemap", "another", "one sitemap"] {
            account.not_listed(&error(Extent::Everything, message));
        }
        assert_eq!(account.error_count(), 2, "each sitemap is named");
    }
}

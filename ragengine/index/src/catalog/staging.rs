//! Indexes that are made beside those that are there, and take their place when they are whole.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tracing::{info, warn};

use super::Catalog;
use crate::archive::{ArchiveError, IndexHeader, Row};
use crate::record::DocumentRecord;
use crate::room::Room;
use crate::store::{Store, StoreError};
use crate::{Index, IndexError};

/// Rows are put in transactions of this size, roughly.
const BATCH_BYTES: u64 = 8 << 20;

/// What the store needs for a byte of rows while it is written, as measured: pages are copied, and a table that finds documents comes with it.
const STORE_FACTOR: u64 = 2;

/// What becomes of an index that is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// It stays, and the new one is refused.
    Stays,
    /// The new one takes its place.
    IsReplaced,
}

/// An index under way. Dropped before it is published, its folder is gone.
pub struct Staged {
    number: u64,
    folder: Folder,
    store: Option<Store>,
    room: Room,
    batch: Vec<Row>,
    batch_bytes: u64,
    document: Option<DocumentRecord>,
}

/// A folder that is removed again unless it is kept.
struct Folder {
    path: PathBuf,
    is_kept: bool,
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !self.is_kept
            && let Err(error) = fs::remove_dir_all(&self.path)
        {
            warn!(path = %self.path.display(), %error, "the files of an index that was not made are still there; they are removed at the next start");
        }
    }
}

impl Staged {
    /// Puts rows, sooner or later.
    pub fn put(&mut self, rows: Vec<Row>) -> Result<(), IndexError> {
        for row in rows {
            self.batch_bytes += row.bytes();
            self.batch.push(row);
            if self.batch_bytes >= BATCH_BYTES {
                self.flush()?;
            }
        }
        Ok(())
    }

    /// Puts what has not been put yet.
    pub fn flush(&mut self) -> Result<(), IndexError> {
        let Some(store) = &self.store else { return Ok(()) };
        self.room.take(self.batch_bytes * STORE_FACTOR)?;
        let document = &mut self.document;
        store.write(|transaction| transaction.put_rows(&self.batch, document)).map_err(|error| match error {
            // The store is new: it is the rows that are wrong.
            StoreError::Damaged(reason) => IndexError::from(ArchiveError::Damaged(reason)),
            error => error.into(),
        })?;
        self.batch.clear();
        self.batch_bytes = 0;
        Ok(())
    }
}

impl Catalog {
    /// Begins an index in a folder of its own. Nobody sees it.
    pub(crate) fn stage(&self, header: &IndexHeader) -> Result<Staged, IndexError> {
        let number = self.take_folder()?;
        let folder = Folder { path: self.path(number), is_kept: false };
        let store = Store::create(&folder.path, &header.record)?;
        store.write(|transaction| {
            header.embedding.iter().try_for_each(|source| transaction.put_embedding_source(source))?;
            transaction.put_counters(header)
        })?;
        Ok(Staged {
            number,
            folder,
            store: Some(store),
            room: Room::of(&self.options.directory)?,
            batch: Vec::new(),
            batch_bytes: 0,
            document: None,
        })
    }

    /// Whether indexes of these names could be made now.
    ///
    /// # Errors
    ///
    /// [`IndexError::Exists`] or [`IndexError::TooMany`].
    pub(crate) fn require_room_for(&self, names: &[String], existing: Existing) -> Result<(), IndexError> {
        let all = self.names();
        let there: Vec<String> = names.iter().filter(|name| all.contains(name)).cloned().collect();
        if existing == Existing::Stays && !there.is_empty() {
            return Err(IndexError::Exists(there));
        }
        match all.len() + names.len() - there.len() <= self.options.max_indexes as usize {
            true => Ok(()),
            false => Err(IndexError::TooMany(self.options.max_indexes)),
        }
    }

    /// Makes indexes under way into indexes: all of them in one transaction, or none. Those that they replace are gone for good.
    pub(crate) fn publish(
        &self,
        staged: Vec<(String, Staged)>,
        existing: Existing,
    ) -> Result<Vec<Arc<Index>>, IndexError> {
        let mut made = Vec::new();
        for (name, staged) in staged {
            let Staged { number, folder, store, .. } = staged;
            drop(store);
            // What cannot be opened now could not be at the next start either, and nothing would be served then.
            let index = Index::open(&name, &folder.path, self.options.search, &self.options.metrics, &mut |_| {})?;
            made.push((index, number, folder));
        }
        let names: Vec<String> = made.iter().map(|(index, ..)| index.name().to_owned()).collect();
        let _changing = self.changing.lock();
        self.require_room_for(&names, existing)?;
        let about: Vec<&str> = names.iter().map(String::as_str).collect();
        let replaced = self.write_about(&about, |tables| {
            let mut replaced = Vec::new();
            for (index, number, _) in &made {
                tables.plans.remove(index.name()).map_err(redb::Error::from)?;
                let before = tables.folders.insert(index.name(), number).map_err(redb::Error::from)?;
                replaced.extend(before.map(|before| before.value()));
            }
            Ok(replaced)
        });
        // Where it is not known whether they are indexes now, the next start removes those that are not.
        let is_in_doubt = replaced.is_err() && self.database.has_failed();
        made.iter_mut().for_each(|(_, _, folder)| folder.is_kept = is_in_doubt);
        let replaced = replaced?;
        // What was planned was of the one that is replaced.
        names.iter().for_each(|name| self.forget_plan(name));
        let made = made.into_iter().map(|(index, _, mut folder)| {
            folder.is_kept = true;
            self.show(index)
        });
        let made = made.collect();
        replaced.into_iter().for_each(|number| remove_replaced(&self.path(number)));
        Ok(made)
    }

    fn show(&self, index: Arc<Index>) -> Arc<Index> {
        let before = self.indexes.write().insert(index.name().to_owned(), Arc::clone(&index));
        let damaged = self.unavailable.write().remove(index.name());
        if let Some(before) = &before {
            before.mark_superseded();
        }
        let (size, has_replaced) = (index.size(), before.is_some() || damaged.is_some());
        info!(
            index = index.name(),
            documents = size.documents,
            chunks = size.chunks,
            has_replaced,
            "index loaded from a copy"
        );
        index.rebuild_if_due();
        index
    }
}

fn remove_replaced(path: &Path) {
    if let Err(error) = fs::remove_dir_all(path) {
        warn!(path = %path.display(), %error, "the files of a replaced index are still there; they are removed at the next start");
    }
}

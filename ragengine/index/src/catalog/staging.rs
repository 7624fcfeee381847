//! Indexes that are built from a copy in a separate folder and published when they are complete.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tracing::{info, warn};

use super::Catalog;
use crate::archive::{ArchiveError, IndexHeader, Row};
use crate::record::DocumentRecord;
use crate::room::Room;
use crate::store::{Store, StoreError, Transaction};
use crate::{Index, IndexError};

/// The approximate size of a transaction, in bytes of rows.
const BATCH_BYTES: u64 = 8 << 20;

/// Bytes that the store needs per byte of rows while it is written, as measured: pages are copied, and a lookup table
/// is added.
const STORE_FACTOR: u64 = 2;

/// What to do if an index of the same name exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// Keep it and reject the new one.
    Keep,
    /// Replace it.
    Replace,
}

/// An index that is being built from a copy. Its folder is removed if it is dropped before it is published.
pub struct Staged {
    number: u64,
    folder: Folder,
    store: Option<Store>,
    room: Room,
    batch: Vec<Row>,
    batch_bytes: u64,
    document: Option<DocumentRecord>,
}

/// Whether more rows follow.
#[derive(Clone, Copy)]
enum Completeness {
    Partial,
    Whole,
}

/// A folder that is removed on drop unless it is kept.
struct Folder {
    path: PathBuf,
    is_kept: bool,
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !self.is_kept
            && let Err(error) = fs::remove_dir_all(&self.path)
        {
            warn!(
                path = %self.path.display(),
                %error,
                "files of an unfinished index could not be removed; the next start removes them"
            );
        }
    }
}

impl Staged {
    /// Adds rows. They are written in batches.
    pub fn put(&mut self, rows: Vec<Row>) -> Result<(), IndexError> {
        for row in rows {
            self.batch_bytes += row.bytes();
            self.batch.push(row);
            if self.batch_bytes >= BATCH_BYTES {
                self.write(Completeness::Partial)?;
            }
        }
        Ok(())
    }

    /// Writes the rows that are still buffered. The store is complete then.
    pub fn flush(&mut self) -> Result<(), IndexError> {
        self.write(Completeness::Whole)
    }

    fn write(&mut self, completeness: Completeness) -> Result<(), IndexError> {
        let Some(store) = &self.store else { return Ok(()) };
        self.room.take(self.batch_bytes * STORE_FACTOR)?;
        let put = |transaction: &Transaction| transaction.put_rows(&self.batch, &mut self.document);
        let written = match completeness {
            Completeness::Partial => store.fill(put),
            Completeness::Whole => store.write(put),
        };
        written.map_err(|error| match error {
            // The store is new, so an inconsistency comes from the rows.
            StoreError::Damaged(reason) => IndexError::from(ArchiveError::Damaged(reason)),
            error => error.into(),
        })?;
        self.batch.clear();
        self.batch_bytes = 0;
        Ok(())
    }
}

impl Catalog {
    /// Starts an index in a new folder. It is invisible until it is published.
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

    /// Checks that indexes of these names may be created now.
    ///
    /// # Errors
    ///
    /// [`IndexError::Exists`] or [`IndexError::TooMany`].
    pub(crate) fn require_room_for(&self, names: &[String], existing: Existing) -> Result<(), IndexError> {
        let all = self.names();
        let there: Vec<String> = names.iter().filter(|name| all.contains(name)).cloned().collect();
        if existing == Existing::Keep && !there.is_empty() {
            return Err(IndexError::Exists(there));
        }
        if all.len() + names.len() - there.len() <= self.options.max_indexes as usize {
            Ok(())
        } else {
            Err(IndexError::TooMany(self.options.max_indexes))
        }
    }

    /// Publishes finished indexes, all in one transaction or none. Indexes that they replace are deleted.
    pub(crate) fn publish(
        &self,
        staged: Vec<(String, Staged)>,
        existing: Existing,
    ) -> Result<Vec<Arc<Index>>, IndexError> {
        let mut made = Vec::new();
        for (name, staged) in staged {
            let Staged { number, folder, store, .. } = staged;
            drop(store);
            // Opened before the commit: an index that cannot be opened must not replace one that serves.
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
        // If the outcome of the transaction is unknown, the folders stay; the next start removes those that the catalog
        // does not list.
        let is_in_doubt = replaced.is_err() && self.database.has_failed();
        made.iter_mut().for_each(|(_, _, folder)| folder.is_kept = is_in_doubt);
        let replaced = replaced?;
        // The plans belonged to the replaced indexes.
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
        warn!(
            path = %path.display(),
            %error,
            "files of a replaced index could not be removed; the next start removes them"
        );
    }
}

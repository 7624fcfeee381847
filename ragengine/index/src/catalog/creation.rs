//! Indexes that were created implicitly for documents, and indexes that a client asked for. An index that a client
//! knows of stays, even if the documents that it was created for cannot be added.

use std::sync::Arc;

use super::Catalog;
use crate::record::IndexRecord;
use crate::{Index, IndexError};

/// How often the index is looked up again if it was deleted or replaced during the call.
const ATTEMPTS: u32 = 5;

impl Catalog {
    /// Returns the index of this name for a client that asked for it, creating it if necessary. The index stays even if
    /// it is empty. The flag is true if it was created.
    ///
    /// # Errors
    ///
    /// As [`Self::get_or_create`].
    pub fn get_or_keep(&self, name: &str, record: impl Fn() -> IndexRecord) -> Result<(Arc<Index>, bool), IndexError> {
        for _ in 1..ATTEMPTS {
            let (index, is_new) = self.get_or_create(name, &record)?;
            match index.acknowledge() {
                Err(IndexError::NoSuchIndex(_) | IndexError::Superseded(_)) => {}
                kept => return kept.map(|()| (index, is_new)),
            }
        }
        let (index, is_new) = self.get_or_create(name, &record)?;
        index.acknowledge().map(|()| (index, is_new))
    }

    /// Deletes an index that was created for documents that could not be added. It stays if another client knows of it,
    /// if it has documents, or if another index has its name now.
    ///
    /// # Errors
    ///
    /// An error of the disk.
    pub fn delete_if_unused(&self, index: &Arc<Index>) -> Result<(), IndexError> {
        let _changing = self.changing.lock();
        let is_there = self.get(index.name()).is_ok_and(|there| Arc::ptr_eq(&there, index));
        // From here on, writers get "no such index" and create it again.
        if !is_there || !index.close_if_unused() {
            return Ok(());
        }
        self.delete_now(index.name()).inspect_err(|_| index.reopen())
    }
}

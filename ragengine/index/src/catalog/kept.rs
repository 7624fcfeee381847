//! Indexes that are made on the way, for documents, and those that somebody wants for themselves: what one was told stays so, whatever becomes
//! of the other's documents.

use std::sync::Arc;

use super::Catalog;
use crate::record::IndexRecord;
use crate::{Index, IndexError};

/// How often an index is looked up again that was deleted or replaced at the moment in which it was asked for.
const ATTEMPTS: u32 = 5;

impl Catalog {
    /// The index of this name for somebody who wants it as it is, made when it is not there: empty or not, it stays. The flag says whether it
    /// was made.
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

    /// Deletes an index that was made for documents that could not be added, unless somebody else was told meanwhile that it is there or has
    /// something, or another has its name by now.
    ///
    /// # Errors
    ///
    /// What the disk says.
    pub fn delete_if_unused(&self, index: &Arc<Index>) -> Result<(), IndexError> {
        let _changing = self.changing.lock();
        let is_there = self.get(index.name()).is_ok_and(|there| Arc::ptr_eq(&there, index));
        // Whoever writes from here on is told that it is gone, and makes it again.
        if !is_there || !index.close_if_unused() {
            return Ok(());
        }
        self.delete_now(index.name()).inspect_err(|_| index.reopen())
    }
}

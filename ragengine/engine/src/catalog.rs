use std::io::{Read, Write};
use std::sync::Arc;

use ragengine_client::wire::NextGeneration;
use ragengine_compute::blocking;
use ragengine_index::IndexError;
use ragengine_index::catalog::Existing;
use ragengine_index::record::IndexRecord;

use crate::Index;
use crate::external::ExternalCatalog;

/// The indexes of a server.
#[derive(Clone)]
pub enum Catalog {
    /// In its data folder.
    Local(Arc<ragengine_index::catalog::Catalog>),
    /// In an external vector engine.
    External(Arc<ExternalCatalog>),
}

/// Why an index is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Making {
    /// For documents that are about to be written. It is deleted again if that fails.
    ForDocuments,
    /// Because a client asked for it.
    AsAsked,
}

impl Catalog {
    /// The indexes in the data folder, if they are there.
    pub fn local(&self) -> Option<&Arc<ragengine_index::catalog::Catalog>> {
        match self {
            Self::Local(catalog) => Some(catalog),
            Self::External(_) => None,
        }
    }

    /// The indexes in the data folder.
    ///
    /// # Errors
    ///
    /// [`IndexError::NotPossible`] with an external engine, in the given words.
    pub fn require_local(
        &self,
        otherwise: &'static str,
    ) -> Result<&Arc<ragengine_index::catalog::Catalog>, IndexError> {
        self.local().ok_or(IndexError::NotPossible(otherwise))
    }

    /// The id of the data: of the data folder, or of the servers that share an engine.
    pub fn data_id(&self) -> &str {
        match self {
            Self::Local(catalog) => catalog.data_id(),
            Self::External(catalog) => catalog.data_id(),
        }
    }

    /// The names of all indexes in order. With an external engine, as they were some seconds ago if the database does
    /// not answer.
    pub async fn names(&self) -> Vec<String> {
        match self {
            Self::Local(catalog) => catalog.names(),
            Self::External(catalog) => catalog.names().await,
        }
    }

    /// All available indexes, ordered by name. With an external engine, as they were some seconds ago.
    pub fn all(&self) -> Vec<Index> {
        match self {
            Self::Local(catalog) => catalog.all().into_iter().map(Index::Local).collect(),
            Self::External(catalog) => catalog.seen().into_iter().map(Index::External).collect(),
        }
    }

    /// Whether there was an index of this name, some seconds ago with an external engine.
    pub fn has(&self, name: &str) -> bool {
        match self {
            Self::Local(catalog) => catalog.has(name),
            Self::External(catalog) => catalog.seen().iter().any(|index| index.name() == name),
        }
    }

    /// What is wrong with indexes.
    pub fn problems(&self) -> Vec<String> {
        match self {
            Self::Local(catalog) => catalog.problems(),
            Self::External(catalog) => catalog.problems(),
        }
    }

    /// Returns the index of this name.
    ///
    /// # Errors
    ///
    /// [`IndexError::NoSuchIndex`], [`IndexError::Unavailable`], or if the database fails.
    pub async fn get(&self, name: &str) -> Result<Index, IndexError> {
        match self {
            Self::Local(catalog) => catalog.get(name).map(Index::Local),
            Self::External(catalog) => catalog.get(name).await.map(Index::External),
        }
    }

    /// Returns the index of this name, creating it if necessary. The flag is true if it was created.
    ///
    /// # Errors
    ///
    /// If the name is invalid, there are too many indexes, or the disk, the engine or the database fails.
    pub async fn get_or_create(
        &self,
        name: &str,
        record: IndexRecord,
        making: Making,
    ) -> Result<(Index, bool), IndexError> {
        match self {
            Self::Local(catalog) => {
                let (catalog, name) = (Arc::clone(catalog), name.to_owned());
                let (index, is_new) = blocking::run(move || match making {
                    Making::ForDocuments => catalog.get_or_create(&name, || record),
                    Making::AsAsked => catalog.get_or_keep(&name, || record.clone()),
                })
                .await?;
                Ok((Index::Local(index), is_new))
            }
            Self::External(catalog) => {
                let (index, is_new) = catalog.get_or_create(name, record).await?;
                Ok((Index::External(index), is_new))
            }
        }
    }

    /// Deletes an index. When this returns, no request finds it any more.
    ///
    /// # Errors
    ///
    /// [`IndexError::NoSuchIndex`], or if the disk or the database fails.
    pub async fn delete(&self, name: &str) -> Result<(), IndexError> {
        match self {
            Self::Local(catalog) => {
                let (catalog, name) = (Arc::clone(catalog), name.to_owned());
                blocking::run(move || catalog.delete(&name)).await
            }
            Self::External(catalog) => catalog.delete(name).await,
        }
    }

    /// Deletes an index that was made for documents that could not be written, unless it is used by now. An external
    /// one stays: another server may be about to write to it.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub async fn delete_if_unused(&self, index: &Index) -> Result<(), IndexError> {
        match (self, index) {
            (Self::Local(catalog), Index::Local(index)) => {
                let (catalog, index) = (Arc::clone(catalog), Arc::clone(index));
                blocking::run(move || catalog.delete_if_unused(&index)).await
            }
            _ => Ok(()),
        }
    }

    /// All indexes, ordered by name.
    ///
    /// # Errors
    ///
    /// If one of them is unavailable, or the database fails.
    pub async fn all_or_none(&self) -> Result<Vec<Index>, IndexError> {
        match self {
            Self::Local(catalog) => Ok(catalog.all_or_none()?.into_iter().map(Index::Local).collect()),
            Self::External(catalog) => Ok(catalog.all_or_none().await?.into_iter().map(Index::External).collect()),
        }
    }

    /// Writes indexes of this catalogue to an archive. Blocks, so call it outside the async runtime, on a thread that
    /// belongs to it.
    ///
    /// # Errors
    ///
    /// If the output, the store or the engine fails, or when `reader_left` ends.
    pub fn export<W: Write>(
        &self,
        indexes: &[Index],
        output: W,
        reader_left: impl Future<Output = ()>,
    ) -> Result<W, IndexError> {
        match self {
            Self::Local(catalog) => {
                let indexes: Vec<_> = indexes.iter().filter_map(Index::local).cloned().collect();
                catalog.export(&indexes, output)
            }
            Self::External(catalog) => {
                let indexes: Vec<_> = indexes.iter().filter_map(Index::external).cloned().collect();
                catalog.export(&indexes, output, reader_left)
            }
        }
    }

    /// Creates the indexes of an archive, or one of them, in one step when the archive has been read completely.
    /// Blocks, so call it outside the async runtime, on a thread that belongs to it.
    ///
    /// # Errors
    ///
    /// An error of the archive, [`IndexError::NotInCopy`], [`IndexError::Exists`] or [`IndexError::TooMany`], or if the
    /// disk, the engine or the database fails. Nothing has changed then.
    pub fn import(
        &self,
        source: impl Read,
        existing: Existing,
        max_block_bytes: u64,
        only: Option<&str>,
    ) -> Result<Vec<Index>, IndexError> {
        Ok(match self {
            Self::Local(catalog) => {
                let made = catalog.import(source, existing, max_block_bytes, only)?;
                made.into_iter().map(Index::Local).collect()
            }
            Self::External(catalog) => {
                let made = catalog.import(source, existing, max_block_bytes, only)?;
                made.into_iter().map(Index::External).collect()
            }
        })
    }

    /// Checks that a copy of this size can be stored. That of an external engine is the engine's to check.
    ///
    /// # Errors
    ///
    /// If the volume has no room.
    pub fn require_free_bytes(&self, bytes: u64) -> Result<(), IndexError> {
        self.local().map_or(Ok(()), |catalog| catalog.require_free_bytes(bytes))
    }

    /// The generation that will replace an index, if there is one. External indexes have none.
    pub fn next_generation(&self, name: &str) -> Option<NextGeneration> {
        self.local()?.next_generation(name)
    }

    /// Stops the work in the background because the server shuts down.
    pub fn shut_down(&self) {
        match self {
            Self::Local(catalog) => catalog.shut_down(),
            Self::External(catalog) => catalog.shut_down(),
        }
    }

    /// Whether no work runs in the background.
    pub fn is_idle(&self) -> bool {
        match self {
            Self::Local(catalog) => catalog.is_idle(),
            Self::External(catalog) => !catalog.seen().iter().any(|index| index.is_changing()),
        }
    }
}

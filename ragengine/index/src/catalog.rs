//! All indexes of a data folder.
//!
//! `catalog.redb` lists the indexes. Each index has a separate folder, named by a number that is never reused. A folder
//! that is not in the catalog is left over from a deleted or unfinished index and is removed at start.

mod completeness;
mod creation;
mod loading;
mod lock;
mod plans;
mod staging;
mod tables;
mod unavailable;
mod uncertain;

use std::collections::BTreeMap;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use loading::Loading;
use lock::FolderLock;
use parking_lot::{Mutex, RwLock};
pub use plans::{PlanChange, Planned, TookOver};
use ragengine_settings::EmbeddingSource;
pub use staging::{Existing, Staged};
use tables::{Tables, initialise};
use tracing::{info, warn};
use unavailable::Unavailable;

use super::name::check_name;
use super::persisted::remove_partials;
use super::record::IndexRecord;
use super::store::{DatabaseFile, StoreError, sync_directory};
use super::{Index, IndexError, SearchSettings};
use crate::metrics::IndexMetrics;
use crate::private;

const CATALOG_FILE: &str = "catalog.redb";

/// The options of a catalog.
#[derive(Clone)]
pub struct CatalogOptions {
    /// The data folder.
    pub directory: PathBuf,
    /// Search settings for all indexes.
    pub search: SearchSettings,
    /// The most indexes that may exist.
    pub max_indexes: u32,
    /// The settings of the embedding model that new indexes are made with.
    pub embedding: EmbeddingSource,
    /// The metrics of indexes.
    pub metrics: Arc<IndexMetrics>,
}

/// The indexes of a data folder. It locks the folder, so a second process cannot open it.
pub struct Catalog {
    _lock: FolderLock,
    options: CatalogOptions,
    database: DatabaseFile,
    data_id: String,
    indexes: RwLock<BTreeMap<String, Arc<Index>>>,
    plans: RwLock<BTreeMap<String, Planned>>,
    unavailable: RwLock<BTreeMap<String, Unavailable>>,
    /// Held while an index is created, replaced or deleted.
    changing: Mutex<()>,
}

impl Catalog {
    /// Opens a data folder, creating it if necessary. [`Self::load`] loads the indexes.
    ///
    /// # Errors
    ///
    /// [`StoreError::InUse`] if another process has the folder, or another error of the disk.
    pub fn open(options: CatalogOptions) -> Result<Self, IndexError> {
        completeness::require_file(&options.directory)?;
        // redb may panic on a damaged file.
        let opening = || Self::open_with(options, DatabaseFile::open);
        let failed = || Err(StoreError::Damaged("reading it failed; see the log".to_owned()).into());
        catch_unwind(AssertUnwindSafe(opening)).unwrap_or_else(|_| failed()).map_err(completeness::of_catalog)
    }

    fn open_with(
        options: CatalogOptions,
        open: impl FnOnce(&Path) -> Result<DatabaseFile, StoreError>,
    ) -> Result<Self, IndexError> {
        let indexes = options.directory.join("indexes");
        private::create_folders(&indexes).map_err(StoreError::from)?;
        private::close_folder(&indexes);
        let lock = FolderLock::take(&options.directory)?;
        let database = open(&options.directory.join(CATALOG_FILE))?;
        let data_id = initialise(&*database.get()?)?;
        sync_directory(&options.directory)?;
        let catalog = Self {
            _lock: lock,
            options,
            database,
            data_id,
            indexes: RwLock::default(),
            plans: RwLock::default(),
            unavailable: RwLock::default(),
            changing: Mutex::new(()),
        };
        catalog.require_known_folders()?;
        *catalog.plans.write() = catalog.saved_plans()?;
        catalog.remove_orphans()?;
        remove_partials(&catalog.options.directory)?;
        Ok(catalog)
    }

    /// Loads every index and reports each step to `progress`. An index that cannot be opened does not affect the
    /// others; [`Self::problems`] lists it.
    ///
    /// # Errors
    ///
    /// If the catalog cannot be read.
    pub fn load(&self, mut progress: impl FnMut(Loading<'_>)) -> Result<(), IndexError> {
        let folders = self.folders().map_err(IndexError::from).map_err(completeness::of_catalog)?;
        for (done, (name, folder)) in folders.iter().enumerate() {
            let mut progress = |step| progress(Loading { done, of: folders.len(), index: name, step });
            self.open_or_set_apart(name, self.path(*folder), &mut progress);
        }
        Ok(())
    }

    /// The id of the data folder, generated when the folder was created.
    pub fn data_id(&self) -> &str {
        &self.data_id
    }

    /// The names of all indexes in order, including unavailable ones.
    pub fn names(&self) -> Vec<String> {
        // Locked, so that an index that is reopened right now is in at least one of the two maps.
        let unavailable = self.unavailable.read();
        let mut names: Vec<String> = self.indexes.read().keys().cloned().collect();
        names.extend(unavailable.keys().cloned());
        drop(unavailable);
        names.sort_unstable();
        names.dedup();
        names
    }

    /// All available indexes, ordered by name.
    pub fn all(&self) -> Vec<Arc<Index>> {
        self.indexes.read().values().cloned().collect()
    }

    /// Returns the index of this name.
    ///
    /// # Errors
    ///
    /// [`IndexError::NoSuchIndex`], or [`IndexError::Unavailable`].
    pub fn get(&self, name: &str) -> Result<Arc<Index>, IndexError> {
        // Locked, so that an index that is reopened right now is in at least one of the two maps.
        let unavailable = self.unavailable.read();
        let index = self.indexes.read().get(name).cloned();
        index.ok_or_else(|| unavailable::why_not(&unavailable, name))
    }

    /// Whether an index of this name exists, available or not.
    pub fn has(&self, name: &str) -> bool {
        !matches!(self.get(name), Err(IndexError::NoSuchIndex(_)))
    }

    /// Returns the index of this name, creating it if necessary. The flag is true if it was created.
    ///
    /// # Errors
    ///
    /// If the name is invalid, there are too many indexes, or the disk fails.
    pub fn get_or_create(
        &self,
        name: &str,
        record: impl FnOnce() -> IndexRecord,
    ) -> Result<(Arc<Index>, bool), IndexError> {
        // Waits for an index that is being deleted.
        if let Ok(index) = self.get(name)
            && index.require_present().is_ok()
        {
            return Ok((index, false));
        }
        check_name(name)?;
        let _changing = self.changing.lock();
        match self.get(name) {
            Ok(index) => return Ok((index, false)),
            Err(IndexError::NoSuchIndex(_)) => {}
            Err(error) => return Err(error),
        }
        if self.names().len() >= self.options.max_indexes as usize {
            return Err(IndexError::TooMany(self.options.max_indexes));
        }
        let folder = self.take_folder()?;
        let path = self.path(folder);
        let index = Index::create(name, &path, record(), self.options.search, &self.options.metrics)
            .inspect_err(|_| remove_files(name, &path))?;
        index.keep_embedding_source(&self.options.embedding)?;
        self.write(|tables| tables.folders.insert(name, folder).map(|_| ()).map_err(redb::Error::from))?;
        self.indexes.write().insert(name.to_owned(), Arc::clone(&index));
        info!(index = name, "index created");
        Ok((index, true))
    }

    /// Deletes an index. When this returns, the deletion is durable.
    ///
    /// # Errors
    ///
    /// [`IndexError::NoSuchIndex`], or an error of the disk.
    pub fn delete(&self, name: &str) -> Result<(), IndexError> {
        let _changing = self.changing.lock();
        self.delete_now(name)
    }

    /// The caller must hold `changing`.
    fn delete_now(&self, name: &str) -> Result<(), IndexError> {
        let directory = self.directory_of(name)?;
        self.write_about(&[name], |tables| {
            tables.plans.remove(name).map_err(redb::Error::from)?;
            tables.folders.remove(name).map(|_| ()).map_err(redb::Error::from)
        })?;
        // Not under the write lock of `indexes`, which every request needs: this waits for writers, and they wait for
        // the disk.
        let index = self.indexes.write().remove(name);
        index.inspect(|index| index.mark_deleted());
        self.unavailable.write().remove(name);
        self.options.metrics.labels().keep(|there| there != name);
        remove_files(name, &directory);
        self.forget_plan(name);
        info!(index = name, "index deleted");
        Ok(())
    }

    /// Stops the work in the background because the server shuts down. Unfinished generations stay on disk.
    pub fn shut_down(&self) {
        self.in_memory().iter().for_each(|index| index.shut_down());
    }

    /// Whether no work runs in the background.
    pub fn is_idle(&self) -> bool {
        !self.in_memory().iter().any(|index| index.is_rebuilding())
    }

    /// All available indexes, and their next generations.
    fn in_memory(&self) -> Vec<Arc<Index>> {
        let next = self.plans.read().values().filter_map(|planned| planned.building.next()).collect::<Vec<_>>();
        [self.all(), next].concat()
    }

    /// The data folder.
    pub(super) fn directory(&self) -> &Path {
        &self.options.directory
    }

    /// The settings of the embedding model that new indexes are made with.
    pub(super) fn embedding(&self) -> &EmbeddingSource {
        &self.options.embedding
    }

    /// The folder of an index, available or not.
    fn directory_of(&self, name: &str) -> Result<PathBuf, IndexError> {
        let unavailable = self.unavailable.read().get(name).map(|index| index.directory.clone());
        unavailable.map_or_else(|| Ok(self.get(name)?.directory.clone()), Ok)
    }

    fn path(&self, folder: u64) -> PathBuf {
        self.options.directory.join("indexes").join(format!("{folder:08}"))
    }

    fn remove_orphans(&self) -> Result<(), StoreError> {
        let serving = self.folders()?.into_iter().map(|(_, folder)| folder);
        let next = self.plans.read().values().filter_map(|planned| planned.plan.folder()).collect::<Vec<_>>();
        let known: Vec<PathBuf> = serving.chain(next).map(|folder| self.path(folder)).collect();
        for path in completeness::index_folders(&self.options.directory)? {
            if !known.contains(&path) {
                info!(path = %path.display(), "removing a folder that belongs to no index");
                fs::remove_dir_all(&path)?;
            }
        }
        Ok(())
    }
}

/// Removes the files of an index that is no longer in the catalog.
fn remove_files(name: &str, directory: &Path) {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            warn!(index = name, %error, "unused files could not be removed; the next start removes them");
        }
        Ok(()) | Err(_) => {}
    }
}

#[cfg(test)]
mod tests;

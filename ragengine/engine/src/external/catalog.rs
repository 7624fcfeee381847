use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::{Mutex, RwLock};
use ragengine_errors::Logged as _;
use ragengine_index::name::check_name;
use ragengine_index::record::IndexRecord;
use ragengine_index::{Analyzer, IndexError};
use ragengine_settings::{EmbeddingSource, TextLanguage, VectorIndexKind};
use ragengine_stores::{Begun, CatalogueIndex, IndexCatalogue, NewIndex};
use ragengine_vector_database::{Database, Index as Engine, IndexShape, VectorIndex};
use tokio::task::AbortHandle;
use tracing::{debug, error, info, warn};
use uuid::Uuid;

use super::ExternalIndex;
use super::fault::{of_catalogue, of_engine};
use super::index::in_engine;
use super::opening::{name_in_engine, read_record};
use super::watch;

/// The candidates when a node is added to a graph: those of FAISS here.
const EF_CONSTRUCTION: u32 = 128;

/// What is needed for indexes in the vector database.
pub struct ExternalOptions {
    /// What reaches the vector database.
    pub vector_database: Database,
    /// What keeps the indexes of these servers apart from others in the same vector database: `stateNamespace`.
    pub namespace: String,
    /// Which indexes there are.
    pub catalogue: Arc<IndexCatalogue>,
    /// How many nodes have each object of a new index.
    pub replication_factor: u32,
    /// How many parts a new index has.
    pub shards: u32,
    /// The candidates of a search in a graph.
    pub ef_search: u32,
    /// The most indexes that may exist.
    pub max_indexes: u32,
    /// The settings of the embedding model that new indexes are made with.
    pub embedding: EmbeddingSource,
    /// The language of full text.
    pub language: TextLanguage,
}

/// The indexes in the vector database.
pub struct ExternalCatalog {
    pub(super) options: ExternalOptions,
    data_id: String,
    /// Indexes that were opened, for what they keep in memory, and for reads while the database does not answer.
    pub(super) known: RwLock<BTreeMap<String, Arc<ExternalIndex>>>,
    pub(super) problems: RwLock<Vec<String>>,
    /// Who this server is among those that share the indexes.
    pub(super) holder: Uuid,
    pub(super) analyzer: Analyzer,
    watching: Mutex<Vec<AbortHandle>>,
}

impl ExternalCatalog {
    /// Reads which indexes there are, and begins to watch their sizes.
    ///
    /// # Errors
    ///
    /// If the vector database or PostgreSQL cannot be used now.
    pub async fn open(options: ExternalOptions) -> Result<Arc<Self>, IndexError> {
        options.vector_database.ready().await.map_err(of_engine)?;
        let data_id = options.catalogue.data_id().await.map_err(of_catalogue)?;
        let analyzer = Analyzer::new(options.language);
        let catalog = Arc::new(Self {
            options,
            data_id,
            known: RwLock::default(),
            problems: RwLock::default(),
            holder: Uuid::new_v4(),
            analyzer,
            watching: Mutex::default(),
        });
        *catalog.problems.write() = catalog.refresh().await?;
        let tasks =
            [tokio::spawn(watch::refresh(Arc::clone(&catalog))), tokio::spawn(watch::sweep(Arc::clone(&catalog)))];
        *catalog.watching.lock() = tasks.iter().map(tokio::task::JoinHandle::abort_handle).collect();
        Ok(catalog)
    }

    /// The id of the data that the servers share.
    pub fn data_id(&self) -> &str {
        &self.data_id
    }

    /// The indexes that were there some seconds ago.
    pub fn seen(&self) -> Vec<Arc<ExternalIndex>> {
        self.known.read().values().cloned().collect()
    }

    /// What was wrong with indexes, or with the list of them, some seconds ago.
    pub fn problems(&self) -> Vec<String> {
        self.problems.read().clone()
    }

    /// The names of all indexes, in order.
    pub async fn names(&self) -> Vec<String> {
        match self.options.catalogue.all().await {
            Ok(rows) => rows.into_iter().map(|row| row.name).collect(),
            Err(error) => {
                warn!(reason = error.for_log(), "the list of indexes cannot be read: the last known one is used");
                self.known.read().keys().cloned().collect()
            }
        }
    }

    /// All indexes, ordered by name.
    ///
    /// # Errors
    ///
    /// If PostgreSQL fails, or the vector database does not have one of them.
    pub async fn all_or_none(&self) -> Result<Vec<Arc<ExternalIndex>>, IndexError> {
        let mut indexes = Vec::new();
        for row in self.options.catalogue.all().await.map_err(of_catalogue)? {
            indexes.push(self.opened(row).await?);
        }
        Ok(indexes)
    }

    /// Returns the index of this name. While the database does not answer, one that is known.
    ///
    /// # Errors
    ///
    /// [`IndexError::NoSuchIndex`], or if the vector database or the database fails.
    pub async fn get(&self, name: &str) -> Result<Arc<ExternalIndex>, IndexError> {
        match self.options.catalogue.get(name).await {
            Ok(Some(row)) => self.opened(row).await,
            Ok(None) => {
                self.known.write().remove(name);
                Err(IndexError::NoSuchIndex(name.to_owned()))
            }
            Err(error) => {
                let known = self.known.read().get(name).cloned();
                debug!(reason = error.for_log(), "the list of indexes cannot be read");
                known.ok_or_else(|| of_catalogue(error))
            }
        }
    }

    /// Returns the index of this name, creating it if necessary. The flag is true if it was created.
    ///
    /// # Errors
    ///
    /// If the name is invalid, there are too many indexes, or the vector database or PostgreSQL fails.
    pub async fn get_or_create(
        &self,
        name: &str,
        record: IndexRecord,
    ) -> Result<(Arc<ExternalIndex>, bool), IndexError> {
        check_name(name)?;
        let catalogue = &self.options.catalogue;
        // Checked first, so that nothing is begun that cannot be completed.
        self.shape(&record)?;
        let max_indexes = self.options.max_indexes;
        // Serialising texts and numbers cannot fail.
        let new = NewIndex {
            name: name.to_owned(),
            store_id: Uuid::new_v4().to_string(),
            record: serde_json::to_string(&record).unwrap_or_default(),
            embedding: serde_json::to_string(&self.options.embedding).ok(),
        };
        let begun = catalogue.begin(new, max_indexes);
        match begun.await.map_err(of_catalogue)? {
            Begun::There(row) => Ok((self.opened(row).await?, false)),
            Begun::TooMany => Err(IndexError::TooMany(max_indexes)),
            Begun::Made(row) => {
                let shape = self.shape(&read_record(&row)?)?;
                self.made_in_engine(&row, &shape).await?;
                if !catalogue.finish(row.number).await.map_err(of_catalogue)? {
                    // It was deleted meanwhile, perhaps before all of it was made.
                    self.finish_deletion_or_leave(&row).await;
                    return Err(IndexError::NoSuchIndex(name.to_owned()));
                }
                info!(index = name, "index created");
                Ok((self.opened(row).await?, true))
            }
        }
    }

    /// Deletes an index. When this returns, no request finds it. What the vector database has of it is deleted too,
    /// later if that fails now.
    ///
    /// # Errors
    ///
    /// [`IndexError::NoSuchIndex`], or if the database fails.
    pub async fn delete(&self, name: &str) -> Result<(), IndexError> {
        let row = self.options.catalogue.begin_deletion(name).await.map_err(of_catalogue)?;
        let row = row.ok_or_else(|| IndexError::NoSuchIndex(name.to_owned()))?;
        self.known.write().remove(name);
        info!(index = name, "index deleted");
        self.finish_deletion_or_leave(&row).await;
        Ok(())
    }

    /// Makes what the vector database has of an index, or completes it.
    pub(super) async fn made_in_engine(&self, row: &CatalogueIndex, shape: &IndexShape) -> Result<Engine, IndexError> {
        let (database, namespace) = (self.options.vector_database.clone(), &self.options.namespace);
        Engine::create(database, namespace, &name_in_engine(row), shape).await.map_err(of_engine)
    }

    /// Deletes what the vector database has of an index whose deletion was begun. If that fails, it is tried again
    /// later.
    pub(super) async fn finish_deletion_or_leave(&self, row: &CatalogueIndex) {
        if let Err(error) = self.finish_deletion(row).await {
            let reason = error.for_log();
            warn!(index = row.name, reason, "a deleted index is left in the vector engine until later");
        }
    }

    /// Deletes what the vector database has of an index whose deletion was begun. An index that the catalogue keeps
    /// stays, whoever asks.
    pub(super) async fn finish_deletion(&self, row: &CatalogueIndex) -> Result<(), IndexError> {
        if self.options.catalogue.is_kept(row.number).await.map_err(of_catalogue)? {
            error!(index = row.name, "an index that is not being deleted was to be deleted: it is kept");
            return Ok(());
        }
        let (database, namespace) = (self.options.vector_database.clone(), &self.options.namespace);
        let engine = Engine::named(database, namespace, &name_in_engine(row)).map_err(of_engine)?;
        engine.delete_index().await.map_err(of_engine)?;
        self.options.catalogue.finish_deletion(row.number).await.map_err(of_catalogue)
    }

    pub(super) fn shape(&self, record: &IndexRecord) -> Result<IndexShape, IndexError> {
        let vector_index = match in_engine(record.vector_index) {
            VectorIndexKind::Flat => VectorIndex::Flat,
            VectorIndexKind::Hnsw { m } => VectorIndex::Hnsw {
                max_connections: u32::from(m),
                ef_construction: EF_CONSTRUCTION,
                ef: Some(self.options.ef_search),
            },
            _ => {
                return Err(IndexError::NotPossible(
                    "vectorIndex must be auto, Flat or HNSW<M> with vectorDB.engine: weaviate or qdrant",
                ));
            }
        };
        let ExternalOptions { replication_factor: replicas, shards, .. } = self.options;
        Ok(IndexShape { vector_index, dimensions: record.dimensions, replicas, shards })
    }

    /// Stops the work in the background.
    pub fn shut_down(&self) {
        self.watching.lock().iter().for_each(AbortHandle::abort);
    }
}

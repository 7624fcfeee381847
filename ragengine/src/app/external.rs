//! Opens the indexes in an external vector engine.

use std::sync::Arc;
use std::time::Instant;

use ragengine_engine::{Catalog, ExternalCatalog, ExternalOptions};
use ragengine_errors::Logged as _;
use ragengine_settings::VectorEngine;
use ragengine_stores::{IndexCatalogue, StoreMetrics};
use ragengine_vector_database::{ApiKey, ClientOptions, Database, qdrant, weaviate};
use tracing::info;

use super::App;
use super::stage::Stage;
use super::start::{RETRY, StartError, wait_before_retry};
use crate::secrets;
use crate::stores::Stores;

/// Opens the indexes, and tries again until the vector database and PostgreSQL answer.
///
/// # Errors
///
/// [`StartError::Settings`] when the address or the key of the vector database cannot be used.
pub(super) async fn open_indexes(app: &App, stores: &Stores) -> Result<Catalog, StartError> {
    let settings = |message: String| StartError::Settings(message);
    let postgres = stores.postgres().ok_or_else(|| settings("vectorDB.engine needs postgres.url".to_owned()))?;
    let metrics = StoreMetrics::clone(&app.metrics.stores);
    let catalogue = Arc::new(IndexCatalogue::new(Arc::clone(postgres), metrics));
    let database = database(app)?;
    let name = database.name();
    let mut pause = RETRY.0;
    loop {
        let started = Instant::now();
        app.progress.write().indexes.tries(format!("asking {name} and PostgreSQL"));
        match ExternalCatalog::open(options(app, database.clone(), Arc::clone(&catalogue))).await {
            Ok(catalog) => {
                let count = catalog.seen().len();
                app.progress.write().indexes = Stage::Done(format!("{count} in {name}"));
                let elapsed_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
                info!(indexes = count, elapsed_ms, data_id = catalog.data_id(), "indexes in {name} opened");
                return Ok(Catalog::External(catalog));
            }
            Err(error) => {
                app.progress.write().indexes = Stage::Failed(error.to_string());
                wait_before_retry(&error.for_log(), &mut pause).await;
            }
        }
    }
}

fn database(app: &App) -> Result<Database, StartError> {
    let settings = &app.settings.vector_db;
    let key = settings.api_key.as_ref().map(secrets::read).transpose();
    let key = key.map_err(|error| StartError::Settings(format!("vectorDB.apiKey: {error}")))?;
    let options = ClientOptions {
        api_key: key.map(|key| ApiKey::new(key.expose())),
        ef_search: Some(app.settings.search.ef_search),
        metrics: Some(Arc::clone(&app.metrics.vector_database)),
        ..ClientOptions::new(settings.url.clone().unwrap_or_default())
    };
    let database = match settings.engine {
        VectorEngine::Qdrant => qdrant::Client::new(options).map(Database::Qdrant),
        VectorEngine::Weaviate | VectorEngine::Faiss => weaviate::Client::new(options).map(Database::Weaviate),
    };
    database.map_err(|error| StartError::Settings(error.to_string()))
}

fn options(app: &App, vector_database: Database, catalogue: Arc<IndexCatalogue>) -> ExternalOptions {
    let settings = &app.settings;
    ExternalOptions {
        vector_database,
        namespace: settings.state_namespace.clone(),
        catalogue,
        replication_factor: settings.vector_db.replication_factor,
        shards: settings.vector_db.shards,
        ef_search: settings.search.ef_search,
        max_indexes: settings.limits.max_indexes,
        embedding: settings.embedding.source(),
        language: settings.retrieval.language,
    }
}

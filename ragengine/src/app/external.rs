//! Opens the indexes in an external vector engine.

use std::sync::Arc;
use std::time::Instant;

use ragengine_engine::{Catalog, ExternalCatalog, ExternalOptions};
use ragengine_errors::Logged as _;
use ragengine_stores::{IndexCatalogue, StoreMetrics};
use ragengine_weaviate::{ApiKey, Client, ClientOptions};
use tracing::info;

use super::App;
use super::stage::Stage;
use super::start::{RETRY, StartError, wait_before_retry};
use crate::secrets;
use crate::stores::Stores;

/// Opens the indexes, and tries again until Weaviate and the database answer.
///
/// # Errors
///
/// [`StartError::Settings`] when the address or the key of Weaviate cannot be used.
pub(super) async fn open_indexes(app: &App, stores: &Stores) -> Result<Catalog, StartError> {
    let settings = |message: String| StartError::Settings(message);
    let postgres =
        stores.postgres().ok_or_else(|| settings("vectorDB.engine: weaviate needs postgres.url".to_owned()))?;
    let metrics = StoreMetrics::clone(&app.metrics.stores);
    let catalogue = Arc::new(IndexCatalogue::new(Arc::clone(postgres), metrics));
    let client = client(app)?;
    let mut pause = RETRY.0;
    loop {
        let started = Instant::now();
        app.progress.write().indexes.tries("asking Weaviate and PostgreSQL".to_owned());
        match ExternalCatalog::open(options(app, client.clone(), Arc::clone(&catalogue))).await {
            Ok(catalog) => {
                let count = catalog.seen().len();
                app.progress.write().indexes = Stage::Done(format!("{count} in Weaviate"));
                let elapsed_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
                info!(indexes = count, elapsed_ms, data_id = catalog.data_id(), "indexes in Weaviate opened");
                return Ok(Catalog::External(catalog));
            }
            Err(error) => {
                app.progress.write().indexes = Stage::Failed(error.to_string());
                wait_before_retry(&error.for_log(), &mut pause).await;
            }
        }
    }
}

fn client(app: &App) -> Result<Client, StartError> {
    let database = &app.settings.vector_db;
    let key = database.api_key.as_ref().map(secrets::read).transpose();
    let key = key.map_err(|error| StartError::Settings(format!("vectorDB.apiKey: {error}")))?;
    let options = ClientOptions {
        api_key: key.map(|key| ApiKey::new(key.expose())),
        metrics: Some(Arc::clone(&app.metrics.weaviate)),
        ..ClientOptions::new(database.url.clone().unwrap_or_default())
    };
    Client::new(options).map_err(|error| StartError::Settings(error.to_string()))
}

fn options(app: &App, client: Client, catalogue: Arc<IndexCatalogue>) -> ExternalOptions {
    let settings = &app.settings;
    ExternalOptions {
        client,
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

use std::path::Path;
use std::time::Duration;

use ragengine_embedding::files::{self, Hub, ModelFiles, Weights};
use ragengine_embedding::local::{Model, Service, ServiceOptions};
use ragengine_embedding::profile::{self, Overrides, Pooling, Profile};
use ragengine_embedding::remote::{Endpoint, EndpointOptions};
use ragengine_embedding::{Embedder, Embedding, EmbeddingMetrics, Error};
use ragengine_errors::Logged;
use ragengine_settings::{EmbeddingSource, LocalEmbedding, RemoteEmbedding};

use crate::secrets::{self, SecretError};

/// Why an embedding model could not be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The files cannot be found or downloaded.
    #[error(transparent)]
    Files(#[from] files::Error),
    /// The files contradict each other or the settings.
    #[error(transparent)]
    Profile(#[from] profile::Error),
    /// The model cannot be loaded, or the endpoint does not answer.
    #[error(transparent)]
    Model(#[from] Error),
    /// A secret cannot be read.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// The index has no settings of its embedding model.
    #[error("the index does not have the settings of its embedding model")]
    UnknownSource,
    /// The model's fingerprint or dimensions differ from the index.
    #[error("the model with this name has changed")]
    OtherModel,
}

impl Logged for LoadError {
    fn own_words(&self) -> Option<String> {
        match self {
            Self::Model(error) => error.own_words(),
            error => Some(error.to_string()),
        }
    }
}

/// Progress of loading a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Loading {
    /// A step has started.
    Tries(String),
    /// A step has made progress.
    Advances(String),
}

/// Loads the local model, downloading it if needed, or requests a first vector from the endpoint.
///
/// # Errors
///
/// [`LoadError`]. Its message says what to do.
pub async fn load(
    source: &EmbeddingSource,
    models_directory: &Path,
    metrics: EmbeddingMetrics,
    progress: &mut (dyn FnMut(Loading) + Send),
) -> Result<Embedding, LoadError> {
    let embedding = match source {
        EmbeddingSource::Local(local) => load_local(local, models_directory, metrics, progress).await?,
        EmbeddingSource::Remote(remote) => {
            progress(Loading::Tries(format!("requesting a first vector from {}", remote.model)));
            let endpoint = Endpoint::new(endpoint_options(remote)?)?;
            let dimensions = endpoint.probe().await?;
            Embedding::new(Embedder::Remote(endpoint), dimensions, metrics)
        }
    };
    Ok(embedding.with_document_names(source.has_document_names()))
}

/// Checks that the secret of a source can be read.
///
/// # Errors
///
/// [`SecretError`] when it cannot.
pub fn check_secrets(source: &EmbeddingSource) -> Result<(), SecretError> {
    let secret = match source {
        EmbeddingSource::Local(local) => &local.hub_token,
        EmbeddingSource::Remote(remote) => &remote.api_key,
    };
    secret.as_ref().map(secrets::read).transpose().map(drop)
}

async fn load_local(
    local: &LocalEmbedding,
    models_directory: &Path,
    metrics: EmbeddingMetrics,
    progress: &mut (dyn FnMut(Loading) + Send),
) -> Result<Embedding, LoadError> {
    let hub = Hub {
        endpoint: local.hub_url.clone(),
        revision: local.revision.clone(),
        token: local.hub_token.as_ref().map(secrets::read).transpose()?,
        ..Hub::default()
    };
    let weights = Weights::named(local.model_file.as_deref())?;
    let directory = files::locate_or_fetch(&local.model_id, &weights, models_directory, &hub, &mut |piece| {
        let megabytes = piece.received_bytes >> 20;
        progress(Loading::Advances(format!("downloading {}: {megabytes} MB of {}", local.model_id, piece.file)));
    })
    .await?;
    progress(Loading::Tries(format!("loading {}", local.model_id)));
    let files = ModelFiles::with_weights(directory, &weights)?;
    let profile = Profile::resolve(&local.model_id, &files.read_configs()?, &overrides(local))?;
    let mut options = ServiceOptions { query_queue: local.queue as usize, ..ServiceOptions::default() };
    if local.threads > 0 {
        options.threads = local.threads as usize;
    }
    let model_id = display_name(&local.model_id).to_owned();
    let loading = tokio::task::spawn_blocking(move || {
        let model = Model::load(&model_id, &files, profile)?;
        let dimensions = model.dimensions();
        Ok::<_, Error>((Service::start(model, &options)?, dimensions))
    });
    let (service, dimensions) = loading.await.unwrap_or(Err(Error::Stopped))?;
    Ok(Embedding::new(Embedder::Local(service), dimensions, metrics))
}

/// The name of a model. For a folder, it is the last component of the path, so that moving the folder does not change
/// it.
fn display_name(model_id: &str) -> &str {
    let is_folder = Path::new(model_id).is_absolute() || model_id.starts_with("./");
    if !is_folder {
        return model_id;
    }
    Path::new(model_id).file_name().and_then(|name| name.to_str()).unwrap_or(model_id)
}

fn overrides(local: &LocalEmbedding) -> Overrides {
    Overrides {
        max_tokens: local.max_tokens.map(|tokens| tokens as usize),
        query_prefix: local.query_prefix.clone(),
        passage_prefix: local.passage_prefix.clone(),
        pooling: local.pooling.map(|pooling| match pooling {
            ragengine_settings::Pooling::Mean => Pooling::Mean,
            ragengine_settings::Pooling::Cls => Pooling::Cls,
        }),
    }
}

fn endpoint_options(remote: &RemoteEmbedding) -> Result<EndpointOptions, SecretError> {
    Ok(EndpointOptions {
        api_key: remote.api_key.as_ref().map(secrets::read).transpose()?,
        dimensions: remote.dimensions.map(|width| width as usize),
        query_prefix: remote.query_prefix.clone(),
        passage_prefix: remote.passage_prefix.clone(),
        max_tokens: remote.max_tokens as usize,
        max_batch: remote.batch_size as usize,
        timeout: Duration::from_secs(remote.timeout_seconds),
        ..EndpointOptions::new(remote.url.clone(), remote.model.clone())
    })
}

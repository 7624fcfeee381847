//! A cross-encoder in this process. It is downloaded and loaded in the background, and nothing waits for it.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use parking_lot::RwLock;
use ragengine_embedding::files::{self, Hub, ModelFiles, Weights};
use ragengine_embedding::reranker::{self, CrossEncoder, Service, ServiceOptions};
use ragengine_settings::{LocalReranker, Rerank};
use tracing::{error, info};

use super::error::RerankError;
use crate::secrets::{self, SecretError};

/// The first and the longest pause before loading is retried, as for the embedding model.
const RETRY: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(60));

/// The setting that errors about the files name.
const MODEL_SETTING: &str = "rerank.local.modelID";

/// Why the cross-encoder could not be loaded.
#[derive(Debug, thiserror::Error)]
enum LoadError {
    /// The files cannot be found or downloaded.
    #[error(transparent)]
    Files(#[from] files::Error),
    /// The files are not those of a cross-encoder.
    #[error(transparent)]
    Model(#[from] reranker::Error),
    /// The hub's token cannot be read.
    #[error("rerank.local.hubToken: {0}")]
    Secret(#[from] SecretError),
}

/// A cross-encoder that is loaded once.
pub(super) struct Local {
    settings: LocalReranker,
    is_started: AtomicBool,
    state: Arc<State>,
    /// Whether a question has been told that it is not loaded.
    is_reported: AtomicBool,
}

#[derive(Default)]
struct State {
    service: OnceLock<Service>,
    /// Why the last attempt to load it failed.
    failure: RwLock<Option<String>>,
}

impl Local {
    /// Reads the settings. Nothing is loaded yet.
    ///
    /// # Errors
    ///
    /// A message if the hub's token cannot be read.
    pub fn new(settings: &Rerank) -> Result<Self, String> {
        let settings = settings.local.clone().unwrap_or_default();
        hub(&settings).map_err(|error| error.to_string())?;
        let state = Arc::default();
        Ok(Self { settings, is_started: AtomicBool::new(false), state, is_reported: AtomicBool::new(false) })
    }

    /// Starts a task that loads the model, downloading it if needed, and retries until that succeeds. Does nothing if
    /// it has been started.
    pub fn start(&self, data_dir: &Path) {
        if self.is_started.swap(true, Ordering::Relaxed) {
            return;
        }
        let (settings, state) = (self.settings.clone(), Arc::clone(&self.state));
        tokio::spawn(load_until_it_succeeds(settings, data_dir.join("models"), state));
    }

    /// Why the model is not loaded. None while the first attempt lasts.
    pub fn failure(&self) -> Option<String> {
        self.state.failure.read().clone()
    }

    /// The positions of the texts, the best first. Equal scores keep their order. The caller limits the time.
    ///
    /// # Errors
    ///
    /// [`RerankError`] if the model is not loaded, is too busy, or gives no usable scores.
    pub async fn order(&self, question: &str, texts: Vec<String>) -> Result<Vec<usize>, RerankError> {
        let Some(service) = self.state.service.get() else {
            let is_known = self.is_reported.swap(true, Ordering::Relaxed);
            return Err(RerankError::NotLoaded { is_known });
        };
        Ok(best_first(&service.score(question, texts).await?))
    }
}

/// The positions of scores, the highest first. Equal ones keep their order.
fn best_first(scores: &[f32]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&one, &other| scores[other].total_cmp(&scores[one]));
    order
}

async fn load_until_it_succeeds(settings: LocalReranker, models: PathBuf, state: Arc<State>) {
    let model = &settings.model_id;
    let mut pause = RETRY.0;
    loop {
        let started = Instant::now();
        match load(&settings, &models).await {
            Ok(service) => {
                let elapsed_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
                info!(model, max_tokens = service.model().max_tokens(), elapsed_ms, "reranker loaded");
                let is_first = state.service.set(service).is_ok();
                debug_assert!(is_first, "it is loaded once");
                *state.failure.write() = None;
                return;
            }
            Err(error) => {
                let reason = error.to_string();
                error!(model, reason, retry_in_s = pause.as_secs(), "reranker not loaded: chunks keep their order");
                *state.failure.write() = Some(reason);
            }
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(RETRY.1);
    }
}

async fn load(settings: &LocalReranker, models: &Path) -> Result<Service, LoadError> {
    let about = |error: files::Error| error.about(MODEL_SETTING);
    let hub = hub(settings)?;
    let directory = files::locate_or_fetch(&settings.model_id, &Weights::default(), models, &hub, &mut |_| {})
        .await
        .map_err(about)?;
    let files = ModelFiles::at(directory).map_err(about)?;
    let (model_id, max_tokens) = (settings.model_id.clone(), settings.max_tokens.map(|tokens| tokens as usize));
    let loading = tokio::task::spawn_blocking(move || {
        Service::start(CrossEncoder::load(&model_id, &files, max_tokens)?, &ServiceOptions::default())
    });
    Ok(loading.await.unwrap_or(Err(reranker::Error::Stopped))?)
}

fn hub(settings: &LocalReranker) -> Result<Hub, LoadError> {
    Ok(Hub {
        endpoint: settings.hub_url.clone(),
        revision: settings.revision.clone(),
        token: settings.hub_token.as_ref().map(secrets::read).transpose()?,
        ..Hub::default()
    })
}

#[cfg(test)]
mod tests {
    use ragengine_settings::SecretReference;

    use super::*;

    #[test]
    fn the_highest_score_is_first_and_equal_ones_keep_their_order() {
        for (scores, expected) in [
            (&[][..], &[][..]),
            (&[0.5], &[0]),
            (&[0.1, 0.3, 0.2], &[1, 2, 0]),
            (&[-4.0, 7.5, -4.0, 7.5], &[1, 3, 0, 2]),
        ] {
            assert_eq!(best_first(scores), expected, "{scores:?}");
        }
    }

    #[test]
    fn a_token_that_cannot_be_read_is_refused() {
        let token = SecretReference::File("/nowhere/token".into());
        let local = LocalReranker { hub_token: Some(token), ..LocalReranker::default() };
        let error = Local::new(&Rerank { local: Some(local), ..Rerank::default() }).err().unwrap();
        assert!(error.contains("rerank.local.hubToken") && error.contains("/nowhere/token"), "{error}");
    }
}

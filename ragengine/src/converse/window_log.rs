//! The log lines about the context window.

use std::sync::Arc;

use parking_lot::Mutex;
use ragengine_pipeline::budget::history_tokens;
use ragengine_settings::Settings;
use tracing::info;

use crate::app::App;
use crate::chat::question::window_shares;
use crate::chat::served::Served;
use crate::language_model::LanguageModel;
use crate::retrieval::stages::Endpoint;

/// Logs the context window when it becomes known, and when it or the model changes.
#[derive(Default)]
pub struct WindowLog {
    /// The model and its window that were logged last.
    last: Mutex<Option<(Option<String>, u64)>>,
}

impl WindowLog {
    /// Logs the window of a model, unless the last lines say the same.
    pub fn note(&self, settings: &Settings, model: Option<&str>, window: u64) {
        if !self.changes_to(model, window) {
            return;
        }
        let (percent, tokens) = (
            settings.sessions.history_ratio * 100.0,
            history_tokens(&window_shares(settings, Endpoint::Query, window), 0),
        );
        info!("[CHAT_MEMORY] Detected model context window: {window} tokens");
        info!("[CHAT_MEMORY] Allocating {tokens} tokens for chat history ({percent:.0}% of context window)");
    }

    /// Whether this is another window or another model than before.
    fn changes_to(&self, model: Option<&str>, window: u64) -> bool {
        let now = Some((model.map(str::to_owned), window));
        std::mem::replace(&mut *self.last.lock(), now.clone()) != now
    }
}

/// Logs the window as soon as the language model's endpoint has reported it. Without health checks, the endpoint is
/// asked with the first question.
pub async fn at_start(app: Arc<App>) {
    let Ok(loaded) = app.loaded() else { return };
    if matches!(&*app.language_model, LanguageModel::Upstream(upstream) if !upstream.is_probed()) {
        return;
    }
    if let Ok(served) = Served::of(&app, loaded, None).await {
        app.window_log.note(&app.settings, served.name.as_deref(), served.window_tokens);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_logged_once_until_it_or_the_model_changes() {
        let log = WindowLog::default();
        let logged = [
            log.changes_to(None, 4096),
            log.changes_to(Some("m"), 8192),
            log.changes_to(Some("m"), 8192),
            log.changes_to(Some("m"), 16_384),
            log.changes_to(Some("n"), 16_384),
            log.changes_to(Some("n"), 16_384),
        ];
        assert_eq!(logged, [true, true, false, true, true, false]);
    }
}

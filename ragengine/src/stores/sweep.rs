use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use ragengine_errors::Logged as _;
use ragengine_stores::StoreError;
use tracing::{info, warn};

use crate::app::App;

/// The pause between two deletions of what has expired.
const PAUSE: Duration = Duration::from_secs(3600);

/// Deletes what has expired, every hour.
pub async fn sweep(app: Arc<App>) {
    loop {
        let Ok(loaded) = app.loaded() else { return };
        let now_ms = Timestamp::now().as_millisecond();
        report("sessions", loaded.stores.sessions().sweep(now_ms).await);
        if let Some(feedback) = loaded.stores.feedback() {
            report("feedback", feedback.sweep(now_ms).await);
        }
        if let Some(interactions) = loaded.stores.interactions() {
            report("interactions", interactions.sweep(now_ms).await);
        }
        if let Some(cache) = loaded.stores.cache() {
            report("cache", cache.answers.sweep(now_ms).await);
        }
        tokio::time::sleep(PAUSE).await;
    }
}

fn report(store: &str, swept: Result<u64, StoreError>) {
    match swept {
        Ok(0) => {}
        Ok(deleted) => info!(store, deleted, "expired entries deleted"),
        Err(error) => warn!(store, kind = error.kind(), reason = error.for_log(), "expired entries not deleted"),
    }
}

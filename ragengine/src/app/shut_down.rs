use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tracing::{info, warn};

use super::App;

/// Longest wait for background work when the process ends: a batch of a graph, or a snapshot.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Longest wait for what replies have left to be kept, such as the records that votes need.
const STORES_TIMEOUT: Duration = Duration::from_secs(2);

/// Longest wait for RabbitMQ to take the last events.
const EVENTS_TIMEOUT: Duration = Duration::from_secs(2);

const POLL_INTERVAL: Duration = Duration::from_millis(20);

impl App {
    /// Stops background work, so that running requests get the whole processor. The next start of the server resumes
    /// it.
    pub fn shut_down(&self) {
        if let Some(loaded) = self.loaded.get() {
            loaded.generations.shut_down();
            loaded.catalog.shut_down();
        }
    }

    /// Whether the grace period for running requests has ended.
    pub fn is_grace_over(&self) -> bool {
        self.is_grace_over.load(Ordering::Relaxed)
    }

    /// Keeps unfinished turns of conversations and what the last answers leave, and waits for background work after the
    /// grace period, for up to 5 seconds. The next start of the server detects and repeats interrupted work.
    pub async fn wait_for_background_work(&self) {
        self.is_grace_over.store(true, Ordering::Relaxed);
        tokio::join!(self.open_turns.keep_all(), self.keep_the_rest());
        if let Some(events) = self.events.get() {
            events.shut_down(EVENTS_TIMEOUT).await;
        }
        self.send_last_traces().await;
        let Some(loaded) = self.loaded.get() else { return };
        let idle = async {
            while !loaded.catalog.is_idle() {
                tokio::time::sleep(POLL_INTERVAL).await;
            }
        };
        match tokio::time::timeout(TIMEOUT, idle).await {
            Ok(()) => info!("stopped"),
            Err(_) => warn!("stopped while vectors were being put together: the next start does it again"),
        }
    }

    async fn keep_the_rest(&self) {
        let Some(loaded) = self.loaded.get() else { return };
        if !loaded.stores.background().has_ended(STORES_TIMEOUT).await {
            warn!("stopped before all that the last answers left was kept");
        }
    }

    async fn send_last_traces(&self) {
        let Some(traces) = &self.traces else { return };
        let traces = Arc::clone(traces);
        // A panic in it has been logged.
        drop(tokio::task::spawn_blocking(move || traces.stop()).await);
    }
}

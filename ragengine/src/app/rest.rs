use std::sync::atomic::Ordering;
use std::time::Duration;

use tracing::{info, warn};

use super::App;

/// How long the end of the process waits for work in the background: a batch of a graph, or a snapshot that is being written.
const LONGEST: Duration = Duration::from_secs(5);

const LOOK_AGAIN: Duration = Duration::from_millis(20);

impl App {
    /// Gives up what goes on in the background, because the server stops: requests that run need the processor. All of it is gone on with
    /// by the next start.
    pub fn rest(&self) {
        if let Some(loaded) = self.loaded.get() {
            loaded.generations.rest();
            loaded.catalog.rest();
        }
    }

    /// Whether the time is over in which requests may finish.
    pub fn is_grace_over(&self) -> bool {
        self.is_grace_over.load(Ordering::Relaxed)
    }

    /// Called when the time is over in which requests may finish. Done when nothing goes on in the background, or when that takes too long.
    /// What is cut off then is noticed by the next start.
    pub async fn at_rest(&self) {
        self.is_grace_over.store(true, Ordering::Relaxed);
        let Some(loaded) = self.loaded.get() else { return };
        let rest = async {
            while !loaded.catalog.is_at_rest() {
                tokio::time::sleep(LOOK_AGAIN).await;
            }
        };
        match tokio::time::timeout(LONGEST, rest).await {
            Ok(()) => info!("stopped"),
            Err(_) => warn!("stopped while vectors were being put together: the next start does it again"),
        }
    }
}

//! API keys: a folder of files (the volume of a Secret). The name of a file is that of its key.

mod folder;
mod table;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::RwLock;
use tokio::task::AbortHandle;
use tokio::time::{MissedTickBehavior, interval};
use tracing::{info, warn};

use self::folder::Refusals;
use self::table::Table;
use crate::Principal;
use crate::problem::{Change, Problem};
use crate::small_file::LOOK_EVERY;

/// The API keys of a folder. Only their hashes are kept. The folder is read again every two seconds; the last read
/// holds when it cannot be read.
pub struct ApiKeys {
    shared: Arc<Shared>,
    watcher: AbortHandle,
}

#[derive(Default)]
struct Shared {
    table: RwLock<Option<Arc<Table>>>,
    problem: Problem,
    /// What the last read left out.
    refusals: RwLock<Refusals>,
}

impl ApiKeys {
    /// Reads the folder, and again every two seconds. Must be called in a tokio runtime.
    pub async fn open(folder: PathBuf) -> Self {
        let shared = Arc::new(Shared::default());
        shared.look(&folder).await;
        let watching = Arc::clone(&shared);
        let watcher = tokio::spawn(async move {
            let mut looks = interval(LOOK_EVERY);
            looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                looks.tick().await;
                watching.look(&folder).await;
            }
        });
        Self { shared, watcher: watcher.abort_handle() }
    }

    /// The principal of the key with this text, in constant time. None if there is none.
    ///
    /// # Errors
    ///
    /// [`NotRead`].
    pub fn check(&self, text: &str) -> Result<Option<Principal>, NotRead> {
        let table = self.shared.table.read().clone().ok_or(NotRead)?;
        Ok(table.find(text.as_bytes()))
    }

    /// What is wrong with the folder now, in words for people.
    pub fn problem(&self) -> Option<String> {
        self.shared.problem.words()
    }
}

/// The folder could not be read yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the folder of the API keys could not be read yet")]
pub struct NotRead;

impl Drop for ApiKeys {
    fn drop(&mut self) {
        self.watcher.abort();
    }
}

impl Shared {
    async fn look(&self, folder: &Path) {
        let path = folder.to_path_buf();
        // It fails when the server stops.
        let Ok(read) = tokio::task::spawn_blocking(move || folder::read(&path)).await else { return };
        let path = folder.display();
        match read {
            Ok((table, refusals)) => {
                let has_changed = self.table.read().as_deref() != Some(&table);
                if has_changed {
                    info!(%path, keys = table.len(), "the API keys were read");
                    *self.table.write() = Some(Arc::new(table));
                }
                if self.problem.set(None) == Change::Ended {
                    info!(%path, "the API keys can be read again");
                }
                self.tell(refusals);
            }
            Err(error) => {
                let words = format!("{path}: {error}");
                if self.problem.set(Some(&words)) == Change::Began {
                    warn!(problem = words, "the API keys cannot be read: the last ones hold");
                }
            }
        }
    }

    /// Logs files that are left out, each once.
    fn tell(&self, refusals: Refusals) {
        let mut last = self.refusals.write();
        for (name, reason) in &refusals {
            if last.get(name) != Some(reason) {
                warn!(key = ?name, %reason, "a file is no API key: it is left out");
            }
        }
        *last = refusals;
    }
}

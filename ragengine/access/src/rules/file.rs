use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::RwLock;
use tokio::task::AbortHandle;
use tokio::time::{MissedTickBehavior, interval};
use tracing::{info, warn};

use super::{Access, Rules};
use crate::problem::{Change, Problem};
use crate::small_file::{LOOK_EVERY, SmallFile};

/// The longest `access.yaml`, in bytes: that of a ConfigMap.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// The rules that hold now: those of the settings, or those of `access.yaml`, which is read again when it changes.
pub struct AccessRules {
    shared: Arc<Shared>,
    watcher: Option<AbortHandle>,
}

#[derive(Default)]
struct Shared {
    current: RwLock<Option<Arc<Access>>>,
    problem: Problem,
}

impl AccessRules {
    /// Rules that stay.
    pub fn fixed(access: Access) -> Self {
        let current = RwLock::new(Some(Arc::new(access)));
        Self { shared: Arc::new(Shared { current, problem: Problem::default() }), watcher: None }
    }

    /// Rules of a file, and `default` for other indexes. The last good ones hold while the file is missing or invalid.
    /// Must be called in a tokio runtime.
    pub async fn open(path: PathBuf, default: Rules) -> Self {
        let shared = Arc::new(Shared::default());
        let mut file = SmallFile::new(path.clone(), MAX_FILE_BYTES);
        shared.look(&mut file, &path, &default).await;
        let watching = Arc::clone(&shared);
        let watcher = tokio::spawn(async move {
            let mut looks = interval(LOOK_EVERY);
            looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                looks.tick().await;
                watching.look(&mut file, &path, &default).await;
            }
        });
        Self { shared, watcher: Some(watcher.abort_handle()) }
    }

    /// The rules. None as long as no valid file was read: the server is then not ready.
    pub fn current(&self) -> Option<Arc<Access>> {
        self.shared.current.read().clone()
    }

    /// What is wrong with the file now, in words for people.
    pub fn problem(&self) -> Option<String> {
        self.shared.problem.words()
    }
}

impl Drop for AccessRules {
    fn drop(&mut self) {
        if let Some(watcher) = &self.watcher {
            watcher.abort();
        }
    }
}

impl Shared {
    async fn look(&self, file: &mut SmallFile, path: &Path, default: &Rules) {
        let read = file.changed().await;
        let parsed = match read {
            // The problem of an unchanged file is that of its content. It also is so when the file is back.
            Ok(None) => return,
            Ok(Some(content)) => read_access(&content, default),
            Err(error) => {
                file.forget();
                Err(error.to_string())
            }
        };
        let path = path.display();
        match parsed {
            Ok(access) => {
                let indexes = access.indexes.len();
                *self.current.write() = Some(Arc::new(access));
                self.problem.set(None);
                info!(%path, indexes, "the rules of indexes were read");
            }
            Err(words) => {
                let words = format!("{path}: {words}");
                if self.problem.set(Some(&words)) == Change::Began {
                    let has_rules = self.current.read().is_some();
                    let until_then = if has_rules { "the last ones hold" } else { "the server is not ready" };
                    warn!(problem = words, "the rules of indexes cannot be read: {until_then}");
                }
            }
        }
    }
}

fn read_access(content: &[u8], default: &Rules) -> Result<Access, String> {
    let yaml = std::str::from_utf8(content).map_err(|_| "it is not a text in UTF-8".to_owned())?;
    Access::from_yaml(yaml, default.clone()).map_err(|error| error.to_string())
}

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tokio::sync::Mutex;

/// How long an answer holds: a probe must not write at every turn.
const VALIDITY: Duration = Duration::from_secs(5);

/// How long the disk may take to answer.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Whether the data folder can be written, found out by writing to it.
#[derive(Default)]
pub(super) struct Volume {
    last: Mutex<Option<(Instant, Result<(), String>)>>,
}

impl Volume {
    /// Writes a small file, unless that was done a moment ago.
    pub async fn check(&self, directory: &Path) -> Result<(), String> {
        let mut last = self.last.lock().await;
        if let Some((when, result)) = &*last
            && when.elapsed() < VALIDITY
        {
            return result.clone();
        }
        let path = directory.join(".writable");
        let writing = tokio::task::spawn_blocking(move || write(&path));
        let result = match tokio::time::timeout(TIMEOUT, writing).await {
            Ok(Ok(result)) => result,
            _ => Err("the data folder does not answer".to_owned()),
        };
        *last = Some((Instant::now(), result.clone()));
        result
    }
}

fn write(path: &PathBuf) -> Result<(), String> {
    let told = |error: std::io::Error| format!("the data folder cannot be written: {error}");
    fs::write(path, b"ragengine writes this to see whether it can\n").map_err(told)?;
    fs::remove_file(path).map_err(told)
}

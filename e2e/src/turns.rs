//! Locks that tests of a run take turns with. Each test is a process, so the locks are files.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read as _, Write as _};
use std::path::PathBuf;
use std::time::Duration;

use crate::Error;

/// The number of servers that start at the same time. With more, a node with two cores is too slow for the probes.
const STARTING: usize = 2;

/// The delay between attempts to lock a file.
const ASK_AGAIN: Duration = Duration::from_millis(100);

/// A held lock. It ends when this is dropped, or with the process.
pub struct Turn(File);

/// Waits until no test runs alone. Other tests may run at the same time.
///
/// # Errors
///
/// When the lock file cannot be created.
pub async fn beside_others() -> Result<Turn, Error> {
    wait_for(&["cluster".to_owned()], File::try_lock_shared).await
}

/// Waits until no other test runs.
///
/// # Errors
///
/// When the lock file cannot be created.
pub async fn alone() -> Result<Turn, Error> {
    wait_for(&["cluster".to_owned()], File::try_lock).await
}

/// Waits until a server may start.
///
/// # Errors
///
/// When the lock file cannot be created.
pub async fn to_start() -> Result<Turn, Error> {
    let files: Vec<String> = (0..STARTING).map(|number| format!("start-{number}")).collect();
    wait_for(&files, File::try_lock).await
}

/// Runs `work` once in a run. Other tests wait for it. If it fails, the next test tries again.
///
/// # Errors
///
/// The error of `work`. When the lock file cannot be created.
pub async fn once_in_run(what: &str, work: impl AsyncFnOnce() -> Result<(), Error>) -> Result<(), Error> {
    let run = std::env::var("NEXTEST_RUN_ID").unwrap_or_else(|_| std::process::id().to_string());
    let Turn(mut file) = wait_for(&[format!("{what}-{run}")], File::try_lock).await?;
    let mut done = String::new();
    file.read_to_string(&mut done).map_err(unusable)?;
    if done.is_empty() {
        work().await?;
        file.write_all(b"done").map_err(unusable)?;
    }
    Ok(())
}

/// Waits until one of the files can be locked.
async fn wait_for(names: &[String], lock: fn(&File) -> Result<(), TryLockError>) -> Result<Turn, Error> {
    loop {
        for name in names {
            let file = open(name).map_err(unusable)?;
            match lock(&file) {
                Ok(()) => return Ok(Turn(file)),
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(unusable(error)),
            }
        }
        tokio::time::sleep(ASK_AGAIN).await;
    }
}

fn unusable(error: std::io::Error) -> Error {
    Error::Environment(format!("the tests cannot take turns: {error}"))
}

/// Opens a lock file in a folder of temporary files, one folder per user.
fn open(name: &str) -> std::io::Result<File> {
    let folder: PathBuf = std::env::temp_dir().join(format!("ragengine-e2e-{}", rustix::process::getuid().as_raw()));
    std::fs::create_dir_all(&folder)?;
    OpenOptions::new().read(true).append(true).create(true).open(folder.join(name))
}

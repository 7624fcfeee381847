//! `ragengine restore --task`

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::anyhow;
use futures_util::TryStreamExt as _;
use ragengine_backups::BackupError;
use ragengine_client::{Client, RestoreOptions};
use ragengine_settings::backup::RestoreTask;
use ragengine_settings::{BackupBucket, RestoreFrom};
use tokio::runtime::Runtime;

use super::{from_file, print, upload, with_overwrite};
use crate::args::Restore;
use crate::backups::{connect, find};
use crate::cli::connect::{client_of_task, read_task, with_advice};

/// Restores the backup of a task.
///
/// # Errors
///
/// When the task is invalid, there is no such backup, the backup is damaged, or the server refuses it. Nothing is
/// restored then.
pub fn run(path: &Path, arguments: &Restore, runtime: &Runtime) -> anyhow::Result<()> {
    let task: RestoreTask = read_task(path)?;
    let RestoreFrom { place, name, .. } = &task.from;
    place.check().map_err(|wrong| anyhow!("the task in {}: from.place {wrong}", path.display()))?;
    let client = client_of_task(&task.server, &task.server_ca_files, task.write_token.as_ref())?;
    match (&place.s3, &place.folder) {
        (Some(s3), _) => runtime.block_on(from_bucket(&client, s3, &task.from, arguments)),
        (None, Some(folder)) => {
            let input = name.as_ref().map_or_else(|| folder.clone(), |name| folder.join(name));
            from_file(&client, &find(&input)?, arguments, runtime)
        }
        (None, None) => Ok(()),
    }
}

async fn from_bucket(
    client: &Client,
    place: &BackupBucket,
    from: &RestoreFrom,
    arguments: &Restore,
) -> anyhow::Result<()> {
    let bucket = connect(place, &from.allowed_ranges).await?;
    let manifest = bucket.find(from.name.as_deref()).await?;
    // The client only says that the request broke off.
    let broken: Arc<Mutex<Option<BackupError>>> = Arc::default();
    let seen = Arc::clone(&broken);
    let backup = bucket.read(&manifest).map_err(move |error| {
        let words = error.to_string();
        seen.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        words
    });
    let over = RestoreOptions { overwrite: arguments.overwrite, index: arguments.index.as_deref() };
    let patience = Duration::from_secs(arguments.timeout_seconds);
    let restored = upload(client, backup, manifest.bytes, over, patience).await;
    if let Some(error) = broken.lock().unwrap_or_else(PoisonError::into_inner).take() {
        return Err(error.into());
    }
    let restored = restored.map_err(with_overwrite).map_err(with_advice)?;
    print(&format!("{}/{}", bucket.place(), manifest.name), &restored, manifest.contents.documents, arguments)
}

//! `ragengine backup --task`

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use ragengine_backups::Name;
use ragengine_client::{Client, Download};
use ragengine_index::private;
use ragengine_settings::BackupBucket;
use ragengine_settings::backup::{BackupResult, BackupTask, NoBackup};
use serde::Serialize;

use super::waiting::until_taken;
use super::{Target, begin, bucket, fetch, print, prune, unless_stopped};
use crate::backups::{Writer, connect};
use crate::cli::connect::{client_of_task, read_task, with_advice};

/// The reason why a server has no backup.
const NO_INDEX: &str = "there is no index yet";

/// Makes one backup, and deletes those that it supersedes. A server without indexes is not backed up.
///
/// # Errors
///
/// When the task is invalid, or the backup failed. All earlier backups are unchanged then. A backup that is complete is a
/// success, even if those that it supersedes cannot be deleted: another attempt would only add one more.
pub fn run(path: &Path, patience: Duration) -> anyhow::Result<()> {
    let task: BackupTask = read_task(path)?;
    task.place.check().map_err(|wrong| anyhow!("the task in {}: place {wrong}", path.display()))?;
    let client = client_of_task(&task.server, &task.server_ca_files, task.write_token.as_ref())?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    match (&task.place.s3, &task.place.folder) {
        (Some(place), _) => runtime.block_on(into_bucket(&client, &task, place, patience)),
        (None, Some(folder)) => runtime.block_on(into_folder(&client, &task, folder, patience)),
        (None, None) => Ok(()),
    }
}

/// Asks the server for a backup, and waits while it starts or is busy.
async fn begun(client: &Client, patience: Duration) -> anyhow::Result<Download> {
    let mut log = io::stderr();
    let waiting = until_taken(|| begin(client, None, patience), &mut log, fastrand::f64);
    unless_stopped(waiting).await.map_err(with_advice)
}

async fn into_folder(client: &Client, task: &BackupTask, folder: &Path, patience: Duration) -> anyhow::Result<()> {
    private::create_folders(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let download = begun(client, patience).await?;
    let writer = Writer::Named(&task.writer);
    let target = Target::within(folder, writer);
    let (partial, bytes) = fetch(download, &target, patience).await?;
    let contents = partial.verify()?;
    if contents.indexes.is_empty() {
        return report_none(task);
    }
    partial.keep()?;
    print(&target.file.display().to_string(), &contents, bytes)?;
    let name = target.name();
    let indexes = contents.indexes.len() as u64;
    report(task, &BackupResult { name: name.clone(), bytes, indexes, documents: contents.documents })?;
    prune(folder, writer, &name, task.keep.get() as usize).or_else(|error| warn_of_prune(&name, &error))
}

async fn into_bucket(
    client: &Client,
    task: &BackupTask,
    place: &BackupBucket,
    patience: Duration,
) -> anyhow::Result<()> {
    let bucket = connect(place, &task.allowed_ranges).await?;
    let download = begun(client, patience).await?;
    let name = Name::at(jiff::Timestamp::now(), &task.writer);
    let Some(manifest) = bucket::upload(download, &bucket, name.clone(), patience).await? else {
        return report_none(task);
    };
    let (indexes, documents) = (manifest.contents.indexes, manifest.contents.documents);
    let mut out = io::stdout();
    let place = bucket.place();
    writeln!(out, "{place}/{name}: {indexes} indexes, {documents} documents, {} bytes", manifest.bytes)?;
    report(task, &BackupResult { name: manifest.name, bytes: manifest.bytes, indexes, documents })?;
    match bucket.prune(&task.writer, task.keep.get() as usize, &name).await {
        Ok(superseded) => {
            for superseded in superseded {
                writeln!(out, "{place}/{superseded}: deleted")?;
            }
            Ok(())
        }
        Err(error) => warn_of_prune(name.as_str(), &error.into()),
    }
}

fn warn_of_prune(name: &str, error: &anyhow::Error) -> anyhow::Result<()> {
    let complete = format!("the backup {name} is complete, but not all that it supersedes were deleted");
    writeln!(io::stderr(), "ragengine: {complete}: {error:#}").map_err(Into::into)
}

/// A server without indexes may have lost them. So it gets no backup that would push out those that have them.
fn report_none(task: &BackupTask) -> anyhow::Result<()> {
    writeln!(io::stdout(), "{NO_INDEX}: no backup was stored, and none was deleted")?;
    report(task, &NoBackup { reason: NO_INDEX.to_owned() })
}

/// Only a success is reported: after a failure, Kubernetes shows the end of the log instead.
fn report(task: &BackupTask, result: &impl Serialize) -> anyhow::Result<()> {
    let Some(file) = &task.result_file else { return Ok(()) };
    fs::write(file, serde_json::to_vec(result)?).with_context(|| format!("cannot write {}", file.display()))
}

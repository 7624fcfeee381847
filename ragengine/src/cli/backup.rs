//! `ragengine backup`

mod bucket;
mod file;
mod task;
mod waiting;

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail};
pub(super) use file::Contents;
pub use file::verify;
use file::{Partial, remove_leftovers};
use indicatif::{ProgressBar, ProgressStyle};
use ragengine_client::{Client, Download};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::timeout;

use super::connect::{client, with_advice};
use crate::args::Backup;
use crate::backups::{Writer, has_no_index, names, superseded};

/// Writes a backup to a temporary file, verifies it, and renames it to its final name.
///
/// # Errors
///
/// When the server refuses or stops sending, or the file cannot be written. An existing file is not changed then.
pub fn run(arguments: &Backup) -> anyhow::Result<()> {
    let patience = Duration::from_secs(arguments.timeout_seconds);
    if let Some(task) = &arguments.task {
        return task::run(task, patience);
    }
    let target = target(arguments)?;
    let client = client(&arguments.server)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (contents, bytes) = runtime.block_on(to_file(&client, &target, None, patience))?;
    print(&target.file.display().to_string(), &contents, bytes)?;
    match (&target.folder, arguments.keep) {
        // The indexes may be lost: then older backups are all that is left of them.
        (Some(_), Some(_)) if contents.indexes.is_empty() => {
            writeln!(io::stdout(), "there is no index in it, so no older backup was deleted").map_err(Into::into)
        }
        (Some(folder), Some(keep)) => prune(folder, Writer::Unnamed, &target.name(), keep as usize),
        _ => Ok(()),
    }
}

/// Writes a backup of all indexes, or of one, to a file. Returns its contents and its size in bytes.
pub(super) async fn to_file(
    client: &Client,
    target: &Target,
    index: Option<&str>,
    patience: Duration,
) -> anyhow::Result<(Contents, u64)> {
    let download = unless_stopped(begin(client, index, patience)).await.map_err(with_advice)?;
    let (partial, bytes) = fetch(download, target, patience).await?;
    let contents = partial.verify()?;
    partial.keep()?;
    Ok((contents, bytes))
}

/// Asks the server for a backup of all indexes, or of one.
async fn begin(client: &Client, index: Option<&str>, patience: Duration) -> anyhow::Result<Download> {
    let begun = timeout(patience, client.backup(index)).await.with_context(|| silent(patience))?;
    begun.map_err(Into::into)
}

/// Writes a backup to the temporary file of a target. Returns the file and its size in bytes.
async fn fetch(download: Download, target: &Target, patience: Duration) -> anyhow::Result<(Partial, u64)> {
    if let Some(folder) = &target.folder {
        remove_leftovers(folder)?;
    }
    let mut partial = Partial::begin(&target.file)?;
    // An error drops `partial`, which deletes the temporary file.
    let bytes = unless_stopped(receive(download, &mut partial, patience)).await.map_err(with_advice)?;
    Ok((partial, bytes))
}

fn print(what: &str, contents: &Contents, bytes: u64) -> io::Result<()> {
    let (documents, indexes) = (contents.documents, contents.indexes.len());
    writeln!(io::stdout(), "{what}: {indexes} indexes, {documents} documents, {bytes} bytes")
}

/// Fails when a signal arrives before the end. Signals are listened to before the work begins.
pub(super) async fn unless_stopped<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    tokio::select! {
        biased;
        stopped = stop_signal() => Err(stopped.err().map_or_else(|| anyhow!("stopped by a signal"), Into::into)),
        done = work => done,
    }
}

/// Waits for SIGTERM, SIGHUP or SIGINT.
async fn stop_signal() -> io::Result<()> {
    let [mut terminate, mut hangup, mut interrupt] =
        [signal(SignalKind::terminate())?, signal(SignalKind::hangup())?, signal(SignalKind::interrupt())?];
    tokio::select! {
        _ = terminate.recv() => {}
        _ = hangup.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(())
}

/// Where a backup is written.
pub(super) struct Target {
    /// The file.
    pub file: PathBuf,
    /// The folder, if `--output` names one.
    pub folder: Option<PathBuf>,
}

impl Target {
    /// A backup that starts now, in a folder.
    fn within(folder: &Path, writer: Writer<'_>) -> Self {
        Self { file: folder.join(writer.name_at(jiff::Timestamp::now())), folder: Some(folder.to_owned()) }
    }

    /// The name of the file.
    fn name(&self) -> String {
        self.file.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }
}

fn target(arguments: &Backup) -> anyhow::Result<Target> {
    let Some(output) = &arguments.output else { bail!("--output is missing") };
    match (output.is_dir(), arguments.keep) {
        (true, _) => Ok(Target::within(output, Writer::Unnamed)),
        (false, Some(_)) => bail!("--keep needs a folder, but {} is not a folder", output.display()),
        (false, None) => Ok(Target { file: output.clone(), folder: None }),
    }
}

fn silent(patience: Duration) -> String {
    format!("no data arrived for {} s", patience.as_secs())
}

async fn receive(mut download: Download, partial: &mut Partial, patience: Duration) -> anyhow::Result<u64> {
    let bar = progress_bar();
    let mut bytes = 0;
    while let Some(chunk) = timeout(patience, download.chunk()).await.with_context(|| silent(patience))?? {
        partial.write(chunk.as_ref())?;
        bytes += chunk.as_ref().len() as u64;
        bar.set_position(bytes);
    }
    bar.finish_and_clear();
    Ok(bytes)
}

/// Deletes the backups of a writer in a folder that `newest`, which it has just written, and its newest `keep - 1` others
/// that have an index supersede. Files with other names stay.
fn prune(folder: &Path, writer: Writer<'_>, newest: &str, keep: usize) -> anyhow::Result<()> {
    for name in superseded(names(folder)?, writer, newest, keep, |name| !has_no_index(&folder.join(name))) {
        let path = folder.join(name);
        std::fs::remove_file(&path).with_context(|| format!("cannot delete the old backup {}", path.display()))?;
        writeln!(io::stdout(), "{}: deleted", path.display())?;
    }
    Ok(())
}

/// Hidden unless standard error is a terminal.
fn progress_bar() -> ProgressBar {
    let bar = ProgressBar::no_length();
    if let Ok(style) = ProgressStyle::with_template("{bytes}, {bytes_per_sec}, {elapsed} elapsed") {
        bar.set_style(style);
    }
    bar
}

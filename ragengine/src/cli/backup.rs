//! `ragengine backup`

mod file;
mod keep;

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail};
pub use file::verify;
use file::{Partial, remove_leftovers};
use indicatif::{ProgressBar, ProgressStyle};
use keep::{name_at, newest, superseded};
use ragengine_client::Client;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::timeout;

use super::connect::{client, with_advice};
use crate::args::Backup;

/// Writes a backup to a temporary file, verifies it, and renames it to its final name.
///
/// # Errors
///
/// When the server refuses or stops sending, or the file cannot be written. An existing file is not changed then.
pub fn run(arguments: &Backup) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let target = target(arguments)?;
    if let Some(folder) = &target.folder {
        remove_leftovers(folder)?;
    }
    let client = client(&arguments.server)?;
    let mut partial = Partial::begin(&target.file)?;
    let patience = Duration::from_secs(arguments.timeout_seconds);
    let downloading = async {
        tokio::select! {
            bytes = download(&client, &mut partial, patience) => bytes,
            // The error drops `partial`, which deletes the temporary file.
            stopped = stop_signal() => Err(stopped.err().map_or_else(|| anyhow!("stopped by a signal"), Into::into)),
        }
    };
    let bytes = runtime.block_on(downloading).map_err(with_advice)?;
    let contents = partial.finish()?;
    let mut out = io::stdout();
    let (documents, indexes) = (contents.documents, contents.indexes.len());
    writeln!(out, "{}: {indexes} indexes, {documents} documents, {bytes} bytes", target.file.display())?;
    match (&target.folder, arguments.keep) {
        (Some(folder), Some(keep)) => prune(folder, keep as usize),
        _ => Ok(()),
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

struct Target {
    file: PathBuf,
    /// The folder, if `--output` names one.
    folder: Option<PathBuf>,
}

fn target(arguments: &Backup) -> anyhow::Result<Target> {
    let output = &arguments.output;
    match (output.is_dir(), arguments.keep) {
        (true, _) => Ok(Target { file: output.join(name_at(jiff::Timestamp::now())), folder: Some(output.clone()) }),
        (false, Some(_)) => bail!("--keep needs a folder, but {} is not a folder", output.display()),
        (false, None) => Ok(Target { file: output.clone(), folder: None }),
    }
}

async fn download(client: &Client, partial: &mut Partial, patience: Duration) -> anyhow::Result<u64> {
    let silent = || format!("no data arrived for {} s", patience.as_secs());
    let mut backup = timeout(patience, client.backup()).await.with_context(silent)??;
    let bar = progress_bar();
    let mut bytes = 0;
    while let Some(chunk) = timeout(patience, backup.chunk()).await.with_context(silent)?? {
        partial.write(chunk.as_ref())?;
        bytes += chunk.as_ref().len() as u64;
        bar.set_position(bytes);
    }
    bar.finish_and_clear();
    Ok(bytes)
}

/// Deletes all but the newest `keep` backups in a folder. Files with other names stay.
fn prune(folder: &Path, keep: usize) -> anyhow::Result<()> {
    for name in superseded(names(folder)?, keep) {
        let path = folder.join(name);
        std::fs::remove_file(&path).with_context(|| format!("cannot delete the old backup {}", path.display()))?;
        writeln!(io::stdout(), "{}: deleted", path.display())?;
    }
    Ok(())
}

/// Returns the backup file at a path: the file itself, or the newest backup in the folder.
///
/// # Errors
///
/// When the folder cannot be read or has no backup.
pub fn find(input: &Path) -> anyhow::Result<PathBuf> {
    if !input.is_dir() {
        return Ok(input.to_owned());
    }
    match newest(names(input)?) {
        Some(name) => Ok(input.join(name)),
        None => bail!("there is no backup in {}", input.display()),
    }
}

fn names(folder: &Path) -> anyhow::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in folder.read_dir().with_context(|| format!("cannot read {}", folder.display()))? {
        names.extend(entry?.file_name().into_string());
    }
    Ok(names)
}

/// Hidden unless standard error is a terminal.
fn progress_bar() -> ProgressBar {
    let bar = ProgressBar::no_length();
    if let Ok(style) = ProgressStyle::with_template("{bytes}, {bytes_per_sec}, {elapsed} elapsed") {
        bar.set_style(style);
    }
    bar
}

//! Restores a backup into an empty data folder, before the server is ready.

use std::fs::{self, File};
use std::io::{self, BufReader, Read, Write as _};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, anyhow};
use bytes::Bytes;
use futures_util::StreamExt as _;
use ragengine_backups::{Bucket, Manifest};
use ragengine_index::catalog::{Catalog, Existing};
use ragengine_index::private;
use ragengine_settings::{BackupBucket, RestoreFrom};
use serde_json::json;
use tokio::sync::mpsc;
use tracing::info;

use super::App;
use crate::backups::{ChunkReader, connect, find};

/// The file of a data folder into which nothing more is restored: a backup was, or there was an index. Deleting all
/// indexes must not bring back those of the backup.
const MARK: &str = "bootstrapped.json";

/// Restores the backup of the settings, unless the data folder has an index or a mark.
///
/// # Errors
///
/// When there is no such backup, it cannot be read, or it is damaged. Nothing is restored then.
pub(super) async fn restore(app: &Arc<App>, catalog: &Arc<Catalog>) -> anyhow::Result<()> {
    let Some(from) = &app.settings.bootstrap.restore else { return Ok(()) };
    let folder = &app.settings.data_dir;
    if folder.join(MARK).exists() {
        return Ok(());
    }
    if !catalog.names().is_empty() {
        return mark(folder, None);
    }
    app.progress.write().indexes.tries("restoring the backup of bootstrap.restore".to_owned());
    let restored = match (&from.place.s3, &from.place.folder) {
        (Some(place), _) => from_bucket(app, catalog, place, from).await,
        (None, Some(folder)) => from_folder(app, catalog, folder, from).await,
        (None, None) => Ok(String::new()),
    };
    app.metrics.copied("restore", if restored.is_ok() { "ok" } else { "bootstrap" });
    let name = restored.context("bootstrap.restore")?;
    info!(backup = name, indexes = catalog.names().len(), "backup restored into the empty data folder");
    mark(folder, Some(&name))
}

/// Written to another file first, so that it is whole or missing.
fn mark(folder: &Path, name: Option<&str>) -> anyhow::Result<()> {
    let (path, partial) = (folder.join(MARK), folder.join(format!(".{MARK}.partial")));
    let write = || -> io::Result<()> {
        let mut file = private::file().write(true).create(true).truncate(true).open(&partial)?;
        writeln!(file, "{}", json!({"restored": name, "at": jiff::Timestamp::now().to_string()}))?;
        file.sync_all()?;
        fs::rename(&partial, &path)?;
        File::open(folder)?.sync_all()
    };
    write().with_context(|| format!("cannot write {}", path.display()))
}

async fn from_folder(
    app: &Arc<App>,
    catalog: &Arc<Catalog>,
    folder: &Path,
    from: &RestoreFrom,
) -> anyhow::Result<String> {
    let input = from.name.as_ref().map_or_else(|| folder.to_owned(), |name| folder.join(name));
    let path = find(&input)?;
    let file = File::open(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let bytes = file.metadata().with_context(|| format!("cannot read {}", path.display()))?.len();
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    import(app, catalog, bytes, BufReader::with_capacity(1 << 18, file)).await.with_context(|| name.clone())?;
    Ok(name)
}

async fn from_bucket(
    app: &Arc<App>,
    catalog: &Arc<Catalog>,
    place: &BackupBucket,
    from: &RestoreFrom,
) -> anyhow::Result<String> {
    let bucket = connect(place, &from.allowed_ranges).await?;
    let manifest = bucket.find(from.name.as_deref()).await?;
    let (chunks, reader) = ChunkReader::new();
    let (fed, imported) = tokio::join!(feed(&bucket, &manifest, chunks), import(app, catalog, manifest.bytes, reader));
    // The error of the bucket is the cause of the other.
    fed?;
    imported.with_context(|| format!("{}/{}", bucket.place(), manifest.name))?;
    Ok(manifest.name)
}

/// Sends the pieces of a backup. After an error the reader fails too, so that it does not take a part for the whole.
async fn feed(bucket: &Bucket, manifest: &Manifest, chunks: mpsc::Sender<io::Result<Bytes>>) -> anyhow::Result<()> {
    let mut pieces = std::pin::pin!(bucket.read(manifest));
    while let Some(piece) = pieces.next().await {
        let failed = piece.as_ref().err().map(ToString::to_string);
        // Sending fails if the reader has found an error.
        let is_read = chunks.send(piece.map_err(|error| io::Error::other(error.to_string()))).await.is_ok();
        if let Some(failed) = failed {
            return Err(anyhow!(failed));
        }
        if !is_read {
            break;
        }
    }
    Ok(())
}

async fn import(
    app: &Arc<App>,
    catalog: &Arc<Catalog>,
    bytes: u64,
    source: impl Read + Send + 'static,
) -> anyhow::Result<()> {
    let (catalog, max_block_bytes) = (Arc::clone(catalog), app.max_block_bytes());
    let importing = tokio::task::spawn_blocking(move || {
        catalog.require_free_bytes(bytes)?;
        catalog.import(source, Existing::Keep, max_block_bytes, None)
    });
    importing.await?.map(drop).map_err(Into::into)
}

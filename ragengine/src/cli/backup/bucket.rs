//! Backups in a bucket.

use std::time::Duration;

use anyhow::Context as _;
use bytes::Bytes;
use ragengine_backups::{Bucket, Contents, Manifest, Name, Upload};
use ragengine_client::Download;
use tokio::time::timeout;

use super::file::verify_stream;
use super::{silent, unless_stopped};
use crate::backups::ChunkReader;
use crate::cli::connect::with_advice;

/// The time limit of removing an unfinished upload. A pod that is stopped has 30 seconds.
const ABORT_TIMEOUT: Duration = Duration::from_secs(20);

/// Streams the backup that a server sends into the bucket, and verifies it on the way. It becomes visible only if it is
/// complete. `None` if the server has no index: then nothing is stored.
pub async fn upload(
    download: Download,
    bucket: &Bucket,
    name: Name,
    patience: Duration,
) -> anyhow::Result<Option<Manifest>> {
    let mut upload = bucket.begin(name).await?;
    let sent = unless_stopped(transfer(download, &mut upload, patience)).await.map_err(with_advice);
    match sent {
        Ok(contents) if !contents.is_empty() => Ok(Some(upload.finish(contents).await?)),
        unfinished => {
            // What remains after the time limit is not a backup.
            let _ = timeout(ABORT_TIMEOUT, upload.abort()).await;
            unfinished.map(|_| None)
        }
    }
}

async fn transfer(mut download: Download, upload: &mut Upload, patience: Duration) -> anyhow::Result<Contents> {
    let (verified, reader) = ChunkReader::new();
    let verifying = tokio::task::spawn_blocking(move || verify_stream(reader));
    while let Some(chunk) = timeout(patience, download.chunk()).await.with_context(|| silent(patience))?? {
        let chunk = Bytes::copy_from_slice(chunk.as_ref());
        // Fails if the chunks before are invalid: the task says why.
        if verified.send(Ok(chunk.clone())).await.is_err() {
            break;
        }
        upload.write(&chunk).await?;
    }
    drop(verified);
    let contents = verifying.await?.context("the server sent an invalid backup, which was not stored")?;
    Ok(Contents { indexes: contents.indexes.len() as u64, documents: contents.documents })
}

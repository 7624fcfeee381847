//! Backups in a bucket.

use std::time::Duration;

use anyhow::Context as _;
use bytes::Bytes;
use ragengine_backups::{Bucket, Contents, Manifest, Name, Upload};
use ragengine_client::Client;
use tokio::time::timeout;

use super::file::verify_stream;
use super::{stop_signal, stopped_by_signal};
use crate::backups::ChunkReader;
use crate::cli::connect::with_advice;

/// The time limit of removing an unfinished upload. A pod that is stopped has 30 seconds.
const ABORT_TIMEOUT: Duration = Duration::from_secs(20);

/// Streams a backup from the server into the bucket, and verifies it on the way. It becomes visible only if it is
/// complete. `None` if the server has no index: then nothing is stored.
pub async fn upload(
    client: &Client,
    bucket: &Bucket,
    name: Name,
    patience: Duration,
) -> anyhow::Result<Option<Manifest>> {
    let mut upload = bucket.begin(name).await?;
    let sent = tokio::select! {
        sent = transfer(client, &mut upload, patience) => sent.map_err(with_advice),
        stopped = stop_signal() => Err(stopped.err().map_or_else(stopped_by_signal, Into::into)),
    };
    match sent {
        Ok(contents) if !contents.is_empty() => Ok(Some(upload.finish(contents).await?)),
        unfinished => {
            // What remains after the time limit is not a backup.
            let _ = timeout(ABORT_TIMEOUT, upload.abort()).await;
            unfinished.map(|_| None)
        }
    }
}

async fn transfer(client: &Client, upload: &mut Upload, patience: Duration) -> anyhow::Result<Contents> {
    let silent = || format!("no data arrived for {} s", patience.as_secs());
    let (verified, reader) = ChunkReader::new();
    let verifying = tokio::task::spawn_blocking(move || verify_stream(reader));
    let mut backup = timeout(patience, client.backup(None)).await.with_context(silent)??;
    while let Some(chunk) = timeout(patience, backup.chunk()).await.with_context(silent)?? {
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

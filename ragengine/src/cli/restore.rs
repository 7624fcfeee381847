//! `ragengine restore`

use std::io::{self, Write as _};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, bail};
use bytes::{Bytes, BytesMut};
use futures_util::stream::{self, Stream};
use ragengine_client::wire::RestoredIndexes;
use ragengine_client::{Client, ClientError, RestoreOptions};
use tokio::fs::File;
use tokio::io::AsyncReadExt as _;
use tokio::sync::watch;
use tokio::time::timeout;

use super::backup::{find, verify};
use super::connect::{client, with_advice};
use crate::args::Restore;

/// Size of the pieces of the request body.
const CHUNK_BYTES: usize = 256 << 10;

/// Timeout between the last byte and the reply. The server opens the indexes in this time, however large they are.
const FINISH_TIMEOUT: Duration = Duration::from_secs(900);

/// Verifies a backup and sends it.
///
/// # Errors
///
/// When the file is not a complete backup, or the server refuses it or stops reading.
pub fn run(arguments: &Restore) -> anyhow::Result<()> {
    let file = find(&arguments.input)?;
    let contents = verify(&file)?;
    let client = client(&arguments.server)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let restored = runtime.block_on(upload(&client, &file, arguments)).map_err(with_overwrite).map_err(with_advice)?;
    let indexes = restored.indexes.join(", ");
    let what = match &arguments.index {
        Some(_) => "restored index".to_owned(),
        None => format!("{} documents restored", contents.documents),
    };
    writeln!(io::stdout(), "{}: {what}: {indexes}", file.display())?;
    Ok(())
}

async fn upload(client: &Client, path: &Path, arguments: &Restore) -> anyhow::Result<RestoredIndexes> {
    let failed = || format!("cannot read {}", path.display());
    let file = File::open(path).await.with_context(failed)?;
    let bytes = file.metadata().await.with_context(failed)?.len();
    let (progress, mut seen) = watch::channel(0);
    let body = reqwest::Body::wrap_stream(chunks(file, progress));
    let over = RestoreOptions { overwrite: arguments.overwrite, index: arguments.index.as_deref() };
    let mut sending = std::pin::pin!(client.restore(body, bytes, over));
    let patience = Duration::from_secs(arguments.timeout_seconds);
    loop {
        tokio::select! {
            restored = &mut sending => return Ok(restored?),
            moved = timeout(patience, seen.changed()) => match moved {
                Ok(Ok(())) => {}
                // The stream was dropped: the server has read all of it.
                Ok(Err(_)) => break,
                Err(_) => {
                    bail!("the server read no data for {} s; it may still restore the indexes", patience.as_secs())
                }
            }
        }
    }
    let restored = timeout(FINISH_TIMEOUT, sending).await;
    Ok(restored.with_context(|| format!("no reply within {} s of the last byte", FINISH_TIMEOUT.as_secs()))??)
}

/// Streams the bytes of a file, and publishes the number of bytes so far.
fn chunks(file: File, progress: watch::Sender<u64>) -> impl Stream<Item = io::Result<Bytes>> {
    stream::try_unfold((file, progress, 0), |(mut file, progress, sent)| async move {
        let mut chunk = BytesMut::with_capacity(CHUNK_BYTES);
        let read = file.read_buf(&mut chunk).await?;
        let sent = sent + read as u64;
        // Fails after the reply, when the receiver is dropped.
        let _ = progress.send(sent);
        Ok((read > 0).then(|| (chunk.freeze(), (file, progress, sent))))
    })
}

/// Adds a remedy to the error that an index exists.
fn with_overwrite(error: anyhow::Error) -> anyhow::Error {
    match error.downcast_ref::<ClientError>() {
        Some(refused) if refused.is_conflict() => {
            error.context("nothing was restored; --overwrite replaces existing indexes")
        }
        _ => error,
    }
}

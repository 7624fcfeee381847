//! `ragengine restore`

mod task;

use std::error::Error;
use std::io::{self, Write as _};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, bail};
use bytes::{Bytes, BytesMut};
use futures_util::stream::{self, Stream, StreamExt as _};
use ragengine_client::wire::RestoredIndexes;
use ragengine_client::{Client, ClientError, RestoreOptions};
use tokio::fs::File;
use tokio::io::AsyncReadExt as _;
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio::time::timeout;

use super::backup::verify;
use super::connect::{client, with_advice};
use crate::args::Restore;
use crate::backups::find;

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
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    if let Some(path) = &arguments.task {
        return task::run(path, arguments, &runtime);
    }
    let Some(input) = &arguments.input else { bail!("--input is missing") };
    let client = client(&arguments.server)?;
    from_file(&client, &find(input)?, arguments, &runtime)
}

/// Restores a backup from a file.
fn from_file(client: &Client, file: &Path, arguments: &Restore, runtime: &Runtime) -> anyhow::Result<()> {
    let contents = verify(file)?;
    let over = RestoreOptions { overwrite: arguments.overwrite, index: arguments.index.as_deref() };
    let patience = Duration::from_secs(arguments.timeout_seconds);
    let restored = runtime.block_on(send_file(client, file, over, patience)).map_err(with_overwrite)?;
    print(&file.display().to_string(), &restored, contents.documents, arguments)
}

/// Sends a backup that is a file.
///
/// # Errors
///
/// When the file cannot be read, or the server refuses it or stops reading.
pub(super) async fn send_file(
    client: &Client,
    file: &Path,
    over: RestoreOptions<'_>,
    patience: Duration,
) -> anyhow::Result<RestoredIndexes> {
    let failed = || format!("cannot read {}", file.display());
    let opened = File::open(file).await.with_context(failed)?;
    let bytes = opened.metadata().await.with_context(failed)?.len();
    upload(client, chunks(opened), bytes, over, patience).await.map_err(with_advice)
}

fn print(what: &str, restored: &RestoredIndexes, documents: u64, arguments: &Restore) -> anyhow::Result<()> {
    let indexes = restored.indexes.join(", ");
    let done = match &arguments.index {
        Some(_) => "restored index".to_owned(),
        None => format!("{documents} documents restored"),
    };
    writeln!(io::stdout(), "{what}: {done}: {indexes}")?;
    Ok(())
}

/// Sends a backup of `bytes` bytes. An error of the stream breaks the request off, so that nothing is restored.
async fn upload<E: Into<Box<dyn Error + Send + Sync>> + 'static>(
    client: &Client,
    backup: impl Stream<Item = Result<Bytes, E>> + Send + 'static,
    bytes: u64,
    over: RestoreOptions<'_>,
    patience: Duration,
) -> anyhow::Result<RestoredIndexes> {
    let (progress, mut seen) = watch::channel(0_u64);
    let counted = backup.inspect(move |chunk| {
        if let Ok(chunk) = chunk {
            progress.send_modify(|sent| *sent += chunk.len() as u64);
        }
    });
    let body = reqwest::Body::wrap_stream(counted);
    let mut sending = std::pin::pin!(client.restore(body, bytes, over));
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

/// Streams the bytes of a file.
fn chunks(file: File) -> impl Stream<Item = io::Result<Bytes>> {
    stream::try_unfold(file, |mut file| async move {
        let mut chunk = BytesMut::with_capacity(CHUNK_BYTES);
        let read = file.read_buf(&mut chunk).await?;
        Ok((read > 0).then(|| (chunk.freeze(), file)))
    })
}

/// Adds a remedy to the error that an index exists.
pub(super) fn with_overwrite(error: anyhow::Error) -> anyhow::Error {
    match error.downcast_ref::<ClientError>() {
        Some(refused) if refused.is_conflict() => {
            error.context("nothing was restored; --overwrite replaces existing indexes")
        }
        _ => error,
    }
}

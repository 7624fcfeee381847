use std::fs;
use std::path::{Path, PathBuf};

use anyhow::bail;
use bytes::Bytes;
use hyper::Method;
use serde_json::Value;

use crate::http::Connection;
use crate::server::Server;
use crate::vectors;

/// Creates the only index of a server with these settings, then stops the server, fills the index with generated
/// vectors, and starts the server again.
pub async fn fill(
    server: &mut Server,
    folder: &Path,
    index: &str,
    settings: Value,
    chunks: usize,
) -> anyhow::Result<()> {
    eprintln!("filling an index with {chunks} chunks");
    let mut connection = Connection::open(server.address()).await?;
    connection.send(Method::PUT, &format!("/indexes/{index}"), Bytes::from(settings.to_string())).await?;
    server.stop();
    let directory = only_entry(&folder.join("data/indexes"))?;
    tokio::task::spawn_blocking(move || vectors::fill_to(&directory, chunks)).await??;
    server.restart().await
}

fn only_entry(folder: &Path) -> anyhow::Result<PathBuf> {
    let entries = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<anyhow::Result<Vec<_>>>()?;
    let [entry] = entries.as_slice() else { bail!("{} indexes instead of one", entries.len()) };
    Ok(entry.clone())
}

//! `ragengine migrate`

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use ragengine_client::{Client, RestoreOptions};

use super::backup::{Contents, Target, to_file, unless_stopped};
use super::connect::client;
use super::restore::{send_file, with_overwrite};
use crate::args::{Migrate, Server};

/// Copies an index from one server to another, by a backup of it.
///
/// # Errors
///
/// When one of the servers refuses or does not answer, or the temporary file cannot be written. The other server has
/// not changed then.
pub fn run(arguments: &Migrate) -> anyhow::Result<()> {
    let from = client(&server(&arguments.from, &arguments.from_token_file))?;
    let to = client(&server(&arguments.to, &arguments.to_token_file))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(migrate(&from, &to, arguments))
}

async fn migrate(from: &Client, to: &Client, arguments: &Migrate) -> anyhow::Result<()> {
    let (index, patience) = (arguments.index.as_str(), Duration::from_secs(arguments.timeout_seconds));
    let folder = tempfile::tempdir_in(&arguments.folder);
    let folder = folder.with_context(|| format!("cannot write to {}", arguments.folder.display()))?;
    let target = Target { file: folder.path().join("index.tar"), folder: None };
    let (Contents { documents, .. }, bytes) = to_file(from, &target, Some(index), patience)
        .await
        .with_context(|| format!("reading index '{index}' from {}", arguments.from))?;
    let over = RestoreOptions { overwrite: arguments.overwrite, index: Some(index) };
    unless_stopped(send_file(to, &target.file, over, patience))
        .await
        .map_err(with_overwrite)
        .with_context(|| format!("writing index '{index}' to {}", arguments.to))?;
    let mut out = io::stdout();
    writeln!(out, "{index}: {documents} documents, {bytes} bytes: copied to {}", arguments.to)?;
    let there = from.index(index).await.with_context(|| format!("asking {}", arguments.from))?;
    if there.documents != documents {
        writeln!(
            out,
            "the index has changed meanwhile: {} has {} documents now. Stop writing to it, and copy it again with \
             --overwrite",
            arguments.from, there.documents
        )?;
    }
    Ok(())
}

fn server(url: &str, token_file: &Option<PathBuf>) -> Server {
    Server { url: url.to_owned(), token_file: token_file.clone() }
}

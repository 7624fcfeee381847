//! `ragengine ingest`

mod files;

use std::collections::{HashMap, HashSet};
use std::io::{self, Write as _};

use anyhow::{Context as _, bail};
use files::{LocalFile, Walked, read_document, walk};
use indicatif::{ProgressBar, ProgressStyle};
use ragengine_client::wire::Document;
use ragengine_client::{Client, content_hash};

use super::connect::{client, with_advice};
use crate::args::Ingest;

/// Most documents and bytes in one request: few enough for the progress bar to move, many enough to hide latency.
const BATCH: (usize, usize) = (64, 1 << 20);

/// Most ids in one delete request.
const DELETE_BATCH: usize = 1000;

/// Counts of documents, for the summary.
#[derive(Debug, Default, PartialEq, Eq)]
struct Report {
    sent: usize,
    unchanged: usize,
    deleted: usize,
    missing: usize,
    unreadable: Vec<String>,
}

/// Sends a file or a folder.
///
/// # Errors
///
/// When the path cannot be read, or the server does not answer or refuses.
pub fn run(arguments: &Ingest) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let report = runtime.block_on(ingest(arguments)).map_err(with_advice)?;
    let mut out = io::stdout();
    writeln!(
        out,
        "{}: {} sent, {} unchanged, {} deleted",
        arguments.index, report.sent, report.unchanged, report.deleted
    )?;
    if report.missing > 0 {
        writeln!(
            out,
            "{} documents of this source no longer have a file: --delete-missing deletes them",
            report.missing
        )?;
    }
    match report.unreadable.as_slice() {
        [] => Ok(()),
        unreadable => bail!("{} files could not be sent:\n  {}", unreadable.len(), unreadable.join("\n  ")),
    }
}

async fn ingest(arguments: &Ingest) -> anyhow::Result<Report> {
    let client = client(&arguments.server)?;
    let source = source_name(arguments)?;
    let Walked { files, unreadable } =
        walk(&arguments.path).with_context(|| format!("cannot read {}", arguments.path.display()))?;
    if files.is_empty() && unreadable.is_empty() {
        bail!("{} contains no text files", arguments.path.display());
    }
    let known = client.source_documents(&arguments.index, &source).await?;
    let known: HashMap<String, String> =
        known.into_iter().map(|document| (document.doc_id, document.content_hash)).collect();
    let present: HashSet<String> = files.iter().map(|file| file.doc_id(&source)).collect();
    let mut report = send(&client, arguments, &source, &files, &known).await?;
    report.unreadable.extend(unreadable);
    let missing: Vec<String> = known.into_keys().filter(|doc_id| !present.contains(doc_id)).collect();
    if !arguments.delete_missing {
        report.missing = missing.len();
        return Ok(report);
    }
    for batch in missing.chunks(DELETE_BATCH) {
        report.deleted += client.delete(&arguments.index, batch.to_vec()).await?.deleted_doc_ids.len();
    }
    Ok(report)
}

/// Sends the files that are new or changed, in batches, and updates the progress bar.
async fn send(
    client: &Client,
    arguments: &Ingest,
    source: &str,
    files: &[LocalFile],
    known: &HashMap<String, String>,
) -> anyhow::Result<Report> {
    let bar = progress_bar(files.len() as u64);
    let mut report = Report::default();
    let mut batch: Vec<Document> = Vec::new();
    for file in files {
        match read_document(file, source) {
            Ok(document) if is_unchanged(&document, known) => report.unchanged += 1,
            Ok(document) => batch.push(document),
            Err(error) => report.unreadable.push(format!("{}: {error}", file.path.display())),
        }
        let bytes: usize = batch.iter().map(|document| document.text.len()).sum();
        if batch.len() >= BATCH.0 || bytes >= BATCH.1 {
            send_batch(client, &arguments.index, std::mem::take(&mut batch), &mut report).await?;
        }
        bar.inc(1);
    }
    send_batch(client, &arguments.index, batch, &mut report).await?;
    bar.finish_and_clear();
    Ok(report)
}

/// Sends a batch. If the server refuses it, sends its documents one by one, so that only invalid ones are left out.
async fn send_batch(client: &Client, index: &str, batch: Vec<Document>, report: &mut Report) -> anyhow::Result<()> {
    if batch.is_empty() {
        return Ok(());
    }
    let count = batch.len();
    match client.add(index, batch.clone()).await {
        Ok(_) => report.sent += count,
        Err(error) if !error.is_document_error() => return Err(error.into()),
        Err(error) if count == 1 => {
            let doc_id = batch.first().and_then(|document| document.doc_id.clone()).unwrap_or_default();
            report.unreadable.push(format!("{doc_id}: {error}"));
        }
        Err(_) => {
            for document in batch {
                Box::pin(send_batch(client, index, vec![document], report)).await?;
            }
        }
    }
    Ok(())
}

fn is_unchanged(document: &Document, known: &HashMap<String, String>) -> bool {
    let known = document.doc_id.as_ref().and_then(|doc_id| known.get(doc_id));
    known.is_some_and(|hash| *hash == content_hash(&document.text, &document.metadata))
}

fn source_name(arguments: &Ingest) -> anyhow::Result<String> {
    if let Some(source) = &arguments.source {
        return Ok(source.clone());
    }
    let path = arguments.path.canonicalize().with_context(|| format!("cannot read {}", arguments.path.display()))?;
    match path.file_name().and_then(|name| name.to_str()) {
        Some(name) => Ok(name.to_owned()),
        None => bail!("{} has no name to use as the source: give one with --source", path.display()),
    }
}

/// Hidden unless standard error is a terminal.
fn progress_bar(files: u64) -> ProgressBar {
    let bar = ProgressBar::new(files);
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos}/{len} files, {elapsed} elapsed, {eta} left") {
        bar.set_style(style);
    }
    bar
}

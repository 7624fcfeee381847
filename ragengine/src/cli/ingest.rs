//! `ragengine ingest`

mod files;

use std::collections::{HashMap, HashSet};
use std::io::{self, Write as _};

use anyhow::{Context as _, bail};
use files::{LocalFile, Walked, read_document, walk};
use ragengine_client::Client;

use super::connect::{client, with_advice};
use super::sending::{Sending, Sent, known_documents, progress_bar};
use crate::args::Ingest;

/// Most ids in one delete request.
const DELETE_BATCH: usize = 1000;

/// Counts of documents, for the summary.
#[derive(Debug, Default, PartialEq, Eq)]
struct Report {
    sent: Sent,
    deleted: usize,
    missing: usize,
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
        arguments.index, report.sent.sent, report.sent.unchanged, report.deleted
    )?;
    if report.missing > 0 {
        writeln!(
            out,
            "{} documents of this source no longer have a file: --delete-missing deletes them",
            report.missing
        )?;
    }
    report.sent.require_all("files")
}

async fn ingest(arguments: &Ingest) -> anyhow::Result<Report> {
    let client = client(&arguments.server)?;
    let source = source_name(arguments)?;
    let Walked { files, unreadable } =
        walk(&arguments.path).with_context(|| format!("cannot read {}", arguments.path.display()))?;
    if files.is_empty() && unreadable.is_empty() {
        bail!("{} contains no text files", arguments.path.display());
    }
    let known = known_documents(&client, &arguments.index, &source).await?;
    let present: HashSet<String> = files.iter().map(|file| file.doc_id(&source)).collect();
    let mut report = Report { sent: send(&client, arguments, &source, &files, &known).await?, ..Report::default() };
    report.sent.left_out.extend(unreadable);
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
) -> anyhow::Result<Sent> {
    let bar = progress_bar(files.len() as u64, "files");
    let mut sending = Sending::new(client, &arguments.index, known);
    for file in files {
        match read_document(file, source) {
            Ok(document) => sending.add(document).await?,
            Err(error) => sending.leave_out(&file.path.display(), &error),
        }
        bar.inc(1);
    }
    let sent = sending.finish().await?;
    bar.finish_and_clear();
    Ok(sent)
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

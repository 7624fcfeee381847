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
    /// Whether `--delete-missing` was given, and nothing was deleted because not everything could be listed.
    is_deletion_refused: bool,
}

/// Sends a file or a folder.
///
/// # Errors
///
/// When the path or a part of it cannot be read, or the server does not answer or refuses.
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
    let sent = report.sent.require_all("files");
    if report.is_deletion_refused {
        sent.context("nothing was deleted, because not everything was listed")
    } else {
        sent
    }
}

async fn ingest(arguments: &Ingest) -> anyhow::Result<Report> {
    let client = client(&arguments.server)?;
    let source = source_name(arguments)?;
    let walked = walk(&arguments.path).with_context(|| format!("cannot read {}", arguments.path.display()))?;
    if walked.files.is_empty() && walked.unreadable.is_empty() {
        bail!("{} contains no text files", arguments.path.display());
    }
    let known = known_documents(&client, &arguments.index, &source).await?;
    let sent = send(&client, arguments, &source, &walked.files, &known).await?;
    let missing = missing_documents(known, &source, &walked);
    let mut report = Report { sent, ..Report::default() };
    report.sent.left_out.extend(walked.unreadable);
    let Some(missing) = missing else {
        report.is_deletion_refused = arguments.delete_missing;
        return Ok(report);
    };
    if !arguments.delete_missing {
        report.missing = missing.len();
        return Ok(report);
    }
    for batch in missing.chunks(DELETE_BATCH) {
        report.deleted += client.delete(&arguments.index, batch.to_vec()).await?.deleted_doc_ids.len();
    }
    Ok(report)
}

/// The documents whose files no longer exist. `None` if a part of the folder could not be listed: its files may exist.
fn missing_documents(known: HashMap<String, String>, source: &str, walked: &Walked) -> Option<Vec<String>> {
    if !walked.unreadable.is_empty() {
        return None;
    }
    let present: HashSet<String> = walked.files.iter().chain(&walked.empty).map(|file| file.doc_id(source)).collect();
    Some(known.into_keys().filter(|doc_id| !present.contains(doc_id)).collect())
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

#[cfg(test)]
mod tests {
    use super::*;

    fn files(paths: &[&str]) -> Vec<LocalFile> {
        paths.iter().map(|path| LocalFile { path: path.into(), relative: (*path).to_owned() }).collect()
    }

    #[test]
    fn only_what_was_certainly_not_there_is_missing() {
        let walked = |listed: &[&str], empty: &[&str], is_whole: bool| {
            let unreadable = if is_whole { Vec::new() } else { vec!["x: permission denied".to_owned()] };
            Walked { files: files(listed), empty: files(empty), unreadable }
        };
        for (what, walked, expected) in [
            ("all are there", walked(&["a", "b"], &[], true), Some(vec![])),
            ("one is gone", walked(&["a"], &[], true), Some(vec!["s/b".to_owned()])),
            ("one was emptied", walked(&["a"], &["b"], true), Some(vec![])),
            ("a folder was not listed", walked(&["a"], &[], false), None),
            ("nothing was listed", walked(&[], &[], false), None),
        ] {
            let known = ["s/a", "s/b"].map(|doc_id| (doc_id.to_owned(), "hash".to_owned())).into();
            assert_eq!(missing_documents(known, "s", &walked), expected, "{what}");
        }
    }
}

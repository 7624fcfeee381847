//! `ragengine import`

mod kept;

use std::io::{self, Write as _};

use anyhow::{Context as _, bail};
use ragengine_client::wire::Document;
use ragengine_kaito::{ImportedDocument, PersistedIndex, PersistedVectors};

use self::kept::KeptIndex;
use super::connect::{client, with_advice};
use super::sending::{Sending, Sent, known_documents, progress_bar};
use crate::args::{Import, ImportKaito};

/// Moves the documents of another system's index into a server.
///
/// # Errors
///
/// When the files cannot be read, or the server does not answer or refuses.
pub fn run(arguments: &Import) -> anyhow::Result<()> {
    match arguments {
        Import::Kaito(arguments) => run_kaito(arguments),
    }
}

fn run_kaito(arguments: &ImportKaito) -> anyhow::Result<()> {
    let folder = &arguments.folder;
    let failed = || format!("cannot import {}", folder.display());
    let persisted = PersistedIndex::read(folder).with_context(failed)?;
    if persisted.documents.is_empty() {
        bail!("the index '{}' in {} has no documents", persisted.name, folder.display());
    }
    let index = arguments.index.as_ref().unwrap_or(&persisted.name);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    if arguments.keep_vectors {
        let vectors = PersistedVectors::open(folder).with_context(failed)?;
        let kept = KeptIndex { index, source: &arguments.source, documents: persisted.documents, vectors };
        let client = client(&arguments.server)?;
        let (documents, chunks) = runtime.block_on(kept.send(&client)).map_err(with_advice)?;
        writeln!(io::stdout(), "{index}: {documents} documents with {chunks} chunks, whose vectors were kept")?;
        return Ok(());
    }
    let sent = runtime.block_on(send(arguments, index, persisted.documents)).map_err(with_advice)?;
    writeln!(io::stdout(), "{index}: {} sent, {} unchanged", sent.sent, sent.unchanged)?;
    sent.require_all("documents")
}

/// Sends the documents, unless the server has the same ones from this source already.
async fn send(arguments: &ImportKaito, index: &str, documents: Vec<ImportedDocument>) -> anyhow::Result<Sent> {
    let client = client(&arguments.server)?;
    let known = known_documents(&client, index, &arguments.source).await?;
    let bar = progress_bar(documents.len() as u64, "documents");
    let mut sending = Sending::new(&client, index, &known);
    for ImportedDocument { doc_id, text, metadata, chunks: _ } in documents {
        let source = Some(arguments.source.clone());
        sending.add(Document { doc_id: Some(doc_id), text, metadata, source, revision: None }).await?;
        bar.inc(1);
    }
    let sent = sending.finish().await?;
    bar.finish_and_clear();
    Ok(sent)
}

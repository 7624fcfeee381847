//! Deletes sources that were removed from the task. This happens after the synchronisation of the others, and
//! suspicious deletions are held back.

mod decision;

use decision::{KeptReason, held_back, loses_most, removed_sources};
use ragengine_client::wire::{PutSourceSync, SourceDescription, SourceOwner};
use ragengine_settings::sync::SyncTask;
use tracing::{info, warn};

use crate::error::SyncError;
use crate::identity::SourceName;
use crate::server::Server;

/// The result for the documents of removed sources.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Removed {
    /// The number of documents that were deleted.
    pub deleted: u64,
    /// The number of documents whose deletion needs a confirmation.
    pub held_back: u64,
    /// The value that confirms their deletion, for each source.
    pub confirmations: Vec<String>,
}

/// Deletes the documents of removed sources. The deletion is held back until every other source was read, because one
/// of them may be the removed source with a new name, and also if it would delete more than half of all documents.
///
/// A task without sources deletes all sources of its owner. If the owner has a uid, it deletes only sources that the
/// server records for that uid, and that are to be deleted with the owner.
///
/// # Errors
///
/// When the server does not answer, or another synchronisation has such a source. For a task without sources, also when
/// a source still exists afterwards.
pub async fn remove(
    task: &SyncTask,
    owner: Option<&SourceOwner>,
    server: &Server,
    all_were_read: bool,
) -> Result<Removed, SyncError> {
    let others = others(task, owner, server).await?;
    let mut removed = Removed::default();
    if others.is_empty() {
        return Ok(removed);
    }
    let kept = match (task.sources.is_empty(), all_were_read) {
        (true, _) => None,
        (false, false) => Some(KeptReason::Waits),
        (false, true) => guard(task, server, &others).await?,
    };
    for source in &others {
        match kept.and_then(|kept| held_back(task, owner, source, kept)) {
            Some(record) => {
                hold_back(task, server, source, &record).await?;
                removed.held_back += record.held_back;
                removed.confirmations.extend(record.confirmation);
            }
            None => removed.deleted += delete(task, server, source).await?,
        }
    }
    if task.sources.is_empty() {
        require_gone(task, owner, server).await?;
    }
    Ok(removed)
}

/// Fails if the server still has a source of the owner.
async fn require_gone(task: &SyncTask, owner: Option<&SourceOwner>, server: &Server) -> Result<(), SyncError> {
    match others(task, owner, server).await?.as_slice() {
        [] => Ok(()),
        [first, rest @ ..] => Err(SyncError::Remains { name: first.name.clone(), others: rest.len() }),
    }
}

async fn others(
    task: &SyncTask,
    owner: Option<&SourceOwner>,
    server: &Server,
) -> Result<Vec<SourceDescription>, SyncError> {
    Ok(removed_sources(task, owner, server.sources().await?))
}

async fn guard(
    task: &SyncTask,
    server: &Server,
    others: &[SourceDescription],
) -> Result<Option<KeptReason>, SyncError> {
    let mut kept = Vec::new();
    for source in &task.sources {
        kept.extend(contents(server, &SourceName::new(&task.owner, &source.name).on_server()).await?);
    }
    let mut removed = Vec::new();
    for source in others {
        removed.extend(contents(server, &source.name).await?);
    }
    Ok(loses_most(&kept, &removed).then_some(KeptReason::Guarded))
}

/// The content hashes of the documents of a source. Those of all sources are in memory at once, so nothing else is kept.
async fn contents(server: &Server, source: &str) -> Result<Vec<String>, SyncError> {
    let documents = server.documents(source).await?;
    Ok(documents.into_iter().map(|document| document.content_hash).collect())
}

/// Records what is held back, and why, on the server.
async fn hold_back(
    task: &SyncTask,
    server: &Server,
    source: &SourceDescription,
    record: &PutSourceSync,
) -> Result<(), SyncError> {
    server.put_record(&source.name, record).await.map_err(SyncError::of_record)?;
    warn!(
        index = task.index,
        source = source.name,
        documents = source.documents,
        reason = record.message,
        "removed source kept"
    );
    Ok(())
}

async fn delete(task: &SyncTask, server: &Server, source: &SourceDescription) -> Result<u64, SyncError> {
    let documents = server.delete_source(&source.name).await?.documents;
    info!(index = task.index, source = source.name, documents, "removed source deleted");
    Ok(documents)
}

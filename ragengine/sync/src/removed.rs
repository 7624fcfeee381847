//! Deletes sources that were removed from the task. This happens after the synchronisation of the others, and
//! suspicious deletions are held back.

use std::collections::HashSet;

use ragengine_client::wire::{PutSourceSync, SourceDescription, SourceDocument, SourceOwner, SyncPhase};
use ragengine_settings::sync::SyncTask;
use tracing::{info, warn};

use crate::confirmation::confirmation;
use crate::error::SyncError;
use crate::identity::{SourceName, belongs_to, own_name};
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

/// Why the deletion of a removed source is held back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeptReason {
    /// Another source had errors. It may be the same source with a new name.
    Waits,
    /// More than half of the documents of all sources would be deleted.
    Guarded,
}

impl KeptReason {
    fn message(self) -> &'static str {
        match self {
            Self::Waits => {
                "the source was removed: its documents are deleted once every other source was read without an error"
            }
            Self::Guarded => {
                "the source was removed, and its deletion would delete more than half of the documents of all sources"
            }
        }
    }
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
        let revision = source.sync.as_ref().and_then(|sync| sync.revision.clone());
        let value = confirmation(
            own_name(&source.name, &task.owner),
            &format!("removed {}", revision.as_deref().unwrap_or_default()),
        );
        match kept {
            Some(kept) if !task.confirmations.contains(&value) => {
                let record = PutSourceSync {
                    // The record of a removed source must show the current owner and its deletion policy.
                    owner: owner.cloned(),
                    revision,
                    held_back: source.documents,
                    confirmation: Some(value.clone()),
                    message: Some(kept.message().to_owned()),
                    ..PutSourceSync::new(&task.sync_id, SyncPhase::Complete)
                };
                hold_back(task, server, source, &record).await?;
                removed.held_back += source.documents;
                removed.confirmations.push(value);
            }
            _ => removed.deleted += delete(task, server, source).await?,
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
    let is_named = |on_server: &str| {
        task.sources.iter().any(|source| SourceName::new(&task.owner, &source.name).on_server() == on_server)
    };
    let sources = server.sources().await?.into_iter();
    let gone = owner.filter(|_| task.sources.is_empty());
    let others = sources.filter(|source| belongs_to(&source.name, &task.owner) && !is_named(&source.name));
    Ok(others.filter(|source| gone.is_none_or(|gone| goes_with(source, gone))).collect())
}

/// Whether a source belongs to this owner, and is to be deleted with it. It may now belong to a new owner with the same
/// name, or be marked to be kept.
fn goes_with(source: &SourceDescription, gone: &SourceOwner) -> bool {
    let owner = source.sync.as_ref().and_then(|sync| sync.owner.as_ref());
    owner.is_some_and(|owner| owner.uid == gone.uid && owner.scope == gone.scope && owner.when_gone.is_delete())
}

async fn guard(
    task: &SyncTask,
    server: &Server,
    others: &[SourceDescription],
) -> Result<Option<KeptReason>, SyncError> {
    let mut kept = Vec::new();
    for source in &task.sources {
        kept.extend(server.documents(&SourceName::new(&task.owner, &source.name).on_server()).await?);
    }
    let mut removed = Vec::new();
    for source in others {
        removed.extend(server.documents(&source.name).await?);
    }
    Ok(loses_most(&kept, &removed).then_some(KeptReason::Guarded))
}

/// Whether more than half of all documents would be lost. A document whose content is also in another source is not
/// lost.
fn loses_most(kept: &[SourceDocument], removed: &[SourceDocument]) -> bool {
    let contents: HashSet<&str> = kept.iter().map(|document| document.content_hash.as_str()).collect();
    let lost = removed.iter().filter(|document| !contents.contains(document.content_hash.as_str())).count();
    lost * 2 > kept.len() + removed.len()
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

#[cfg(test)]
mod tests {
    use super::*;

    fn documents(contents: &[&str]) -> Vec<SourceDocument> {
        let document = |content: &&str| SourceDocument {
            doc_id: format!("o.s/{content}"),
            content_hash: (*content).to_owned(),
            revision: None,
        };
        contents.iter().map(document).collect()
    }

    #[test]
    fn a_removed_source_is_deleted_when_most_documents_are_kept() {
        for (what, kept, removed, expected) in [
            ("it was renamed", vec!["a", "b", "c"], vec!["a", "b", "c"], false),
            ("another has taken its place", vec!["x", "y", "z"], vec!["a", "b", "c"], false),
            ("a small one of two", vec!["a", "b", "c"], vec!["d"], false),
            ("the large one of two", vec!["d"], vec!["a", "b", "c"], true),
            ("what has taken its place is empty", vec![], vec!["a"], true),
            ("it is empty itself", vec![], vec![], false),
        ] {
            assert_eq!(loses_most(&documents(&kept), &documents(&removed)), expected, "{what}");
        }
    }
}

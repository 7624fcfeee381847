//! Sources that the task does not name any more: they go last, and guarded.

use std::collections::HashSet;

use ragengine_client::wire::{PutSourceSync, SourceDescription, SourceDocument, SourceOwner, SyncPhase};
use ragengine_settings::sync::SyncTask;
use tracing::{info, warn};

use crate::confirmation::confirmation;
use crate::error::SyncError;
use crate::identity::{SourceName, belongs_to, own_name};
use crate::server::Server;

/// What happened to the documents of sources that the task does not name any more.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Removed {
    /// How many were deleted.
    pub deleted: u64,
    /// How many are held back.
    pub held_back: u64,
    /// What confirms the deletion of these, for each source.
    pub confirmations: Vec<String>,
}

/// Why a source that is not named any more stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kept {
    /// What may have taken its place was not read as a whole.
    Waits,
    /// Most of what the index holds would be gone.
    Guarded,
}

impl Kept {
    fn in_words(self) -> &'static str {
        match self {
            Self::Waits => {
                "the source is not named any more: its documents are deleted when every other source was read without an error"
            }
            Self::Guarded => {
                "the source is not named any more, and more than half of the documents of all sources would be deleted with it"
            }
        }
    }
}

/// Deletes what is there of sources that are not named any more. A source that was renamed is read under its new name first; only then, and only
/// when most documents are still there, the old one goes. A task without sources deletes everything of its owner: where that has a uid, only what the
/// server's records say is its, and is to go with it.
///
/// # Errors
///
/// When the server does not answer, or another synchronisation has such a source; of a task without sources, when something is left.
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
        (false, false) => Some(Kept::Waits),
        (false, true) => guard(task, server, &others).await?,
    };
    for source in &others {
        let revision = source.sync.as_ref().and_then(|sync| sync.revision.clone());
        let word = confirmation(
            own_name(&source.name, &task.owner),
            &format!("removed {}", revision.as_deref().unwrap_or_default()),
        );
        match kept {
            Some(kept) if !task.confirmations.contains(&word) => {
                let record = PutSourceSync {
                    // It is the task's as the others are, and what becomes of it is asked for now.
                    owner: owner.cloned(),
                    revision,
                    held_back: source.documents,
                    confirmation: Some(word.clone()),
                    message: Some(kept.in_words().to_owned()),
                    ..PutSourceSync::new(&task.sync_id, SyncPhase::Complete)
                };
                hold_back(task, server, source, &record).await?;
                removed.held_back += source.documents;
                removed.confirmations.push(word);
            }
            _ => removed.deleted += delete(task, server, source).await?,
        }
    }
    if task.sources.is_empty() {
        require_gone(task, owner, server).await?;
    }
    Ok(removed)
}

/// A deletion is done when the server has nothing of the owner any more.
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

/// Whether a source is that of an owner, and goes with it. Another owner of the same name may have it now, and one that keeps what it has.
fn goes_with(source: &SourceDescription, gone: &SourceOwner) -> bool {
    let owner = source.sync.as_ref().and_then(|sync| sync.owner.as_ref());
    owner.is_some_and(|owner| owner.uid == gone.uid && owner.scope == gone.scope && owner.when_gone.is_delete())
}

async fn guard(task: &SyncTask, server: &Server, others: &[SourceDescription]) -> Result<Option<Kept>, SyncError> {
    let mut staying = Vec::new();
    for source in &task.sources {
        staying.extend(server.documents(&SourceName::new(&task.owner, &source.name).on_server()).await?);
    }
    let mut leaving = Vec::new();
    for source in others {
        leaving.extend(server.documents(&source.name).await?);
    }
    Ok(loses_most(&staying, &leaving).then_some(Kept::Guarded))
}

/// Whether more than half of all documents would be gone. One whose content is there in another source is not.
fn loses_most(staying: &[SourceDocument], leaving: &[SourceDocument]) -> bool {
    let contents: HashSet<&str> = staying.iter().map(|document| document.content_hash.as_str()).collect();
    let lost = leaving.iter().filter(|document| !contents.contains(document.content_hash.as_str())).count();
    lost * 2 > staying.len() + leaving.len()
}

/// The record of the source says what is held back, and why.
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
        "the source is kept"
    );
    Ok(())
}

async fn delete(task: &SyncTask, server: &Server, source: &SourceDescription) -> Result<u64, SyncError> {
    let documents = server.delete_source(&source.name).await?.documents;
    info!(index = task.index, source = source.name, documents, "the source is deleted");
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
    fn a_source_goes_when_most_documents_stay() {
        for (what, staying, leaving, expected) in [
            ("it was renamed", vec!["a", "b", "c"], vec!["a", "b", "c"], false),
            ("another has taken its place", vec!["x", "y", "z"], vec!["a", "b", "c"], false),
            ("a small one of two", vec!["a", "b", "c"], vec!["d"], false),
            ("the large one of two", vec!["d"], vec!["a", "b", "c"], true),
            ("what has taken its place is empty", vec![], vec!["a"], true),
            ("it is empty itself", vec![], vec![], false),
        ] {
            assert_eq!(loses_most(&documents(&staying), &documents(&leaving)), expected, "{what}");
        }
    }
}

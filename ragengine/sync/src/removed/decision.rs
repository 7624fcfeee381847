//! Decides which sources were removed from the task, and which of them keep their documents until that is confirmed.

use std::collections::HashSet;

use ragengine_client::wire::{PutSourceSync, SourceDescription, SourceOwner, SyncPhase};
use ragengine_settings::sync::SyncTask;

use crate::confirmation::confirmation_of_removal;
use crate::identity::{SourceName, belongs_to, own_name};

/// Why the deletion of a removed source is held back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeptReason {
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

/// The owner's sources on the server that the task does not name. If the task names none and the owner is known, only
/// those that are to be deleted with the owner.
pub(super) fn removed_sources(
    task: &SyncTask,
    owner: Option<&SourceOwner>,
    on_server: Vec<SourceDescription>,
) -> Vec<SourceDescription> {
    let is_named = |on_server: &str| {
        task.sources.iter().any(|source| SourceName::new(&task.owner, &source.name).on_server() == on_server)
    };
    let gone = owner.filter(|_| task.sources.is_empty());
    let others =
        on_server.into_iter().filter(|source| belongs_to(&source.name, &task.owner) && !is_named(&source.name));
    others.filter(|source| gone.is_none_or(|gone| goes_with(source, gone))).collect()
}

/// Whether a source belongs to this owner, and is to be deleted with it. It may now belong to a new owner with the same
/// name, or be marked to be kept.
fn goes_with(source: &SourceDescription, gone: &SourceOwner) -> bool {
    let owner = source.sync.as_ref().and_then(|sync| sync.owner.as_ref());
    owner.is_some_and(|owner| owner.uid == gone.uid && owner.scope == gone.scope && owner.when_gone.is_delete())
}

/// The record of a removed source whose documents are kept. `None` if the task confirms their deletion.
pub(super) fn held_back(
    task: &SyncTask,
    owner: Option<&SourceOwner>,
    source: &SourceDescription,
    kept: KeptReason,
) -> Option<PutSourceSync> {
    let revision = source.sync.as_ref().and_then(|sync| sync.revision.clone());
    let value = confirmation_of_removal(own_name(&source.name), revision.as_deref());
    (!task.confirmations.contains(&value)).then(|| PutSourceSync {
        // The record of a removed source must show the current owner and its deletion policy.
        owner: owner.cloned(),
        revision,
        held_back: source.documents,
        confirmation: Some(value),
        message: Some(kept.message().to_owned()),
        ..PutSourceSync::new(&task.sync_id, SyncPhase::Complete)
    })
}

/// Whether more than half of all documents would be lost, by the hashes of their contents. A document whose content is
/// also in another source is not lost.
pub(super) fn loses_most(kept: &[String], removed: &[String]) -> bool {
    let contents: HashSet<&String> = kept.iter().collect();
    let lost = removed.iter().filter(|content| !contents.contains(content)).count();
    lost * 2 > kept.len() + removed.len()
}

#[cfg(test)]
mod tests;

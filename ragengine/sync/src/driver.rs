//! All sources of a task, one after another.

use parking_lot::Mutex;
use ragengine_client::Client;
use ragengine_client::wire::{ChunkingSettings, IndexSettings, PutSourceSync, SourceOwner, SyncPhase};
use ragengine_parsers::Parser;
use ragengine_settings::sync::{IndexOptions, Source, SyncTask};
use ragengine_sources::Access;
use tracing::{info, warn};

use crate::account::Account;
use crate::error::SyncError;
use crate::identity::SourceName;
use crate::record::Record;
use crate::removed::{Removed, remove};
use crate::server::Server;
use crate::source::{Mirror, Mirrored};

/// What a synchronisation works with.
pub struct Tools {
    /// The server, with its write token.
    pub client: Client,
    /// What sources may use.
    pub access: Access,
    /// Reads files.
    pub parser: Parser,
}

/// What became of all sources.
#[derive(Debug, Default)]
pub struct Report {
    /// Each source of the task, in its order.
    pub sources: Vec<(String, Result<Outcome, SyncError>)>,
    /// What happened to the sources that the task does not name any more.
    pub removed: Removed,
}

impl Report {
    /// Whether every source could be synchronised, whatever its files.
    pub fn is_success(&self) -> bool {
        self.sources.iter().all(|(_, outcome)| outcome.is_ok())
    }
}

/// What became of one source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// How many documents were sent.
    pub sent: usize,
    /// How many were deleted.
    pub deleted: usize,
    /// How many would be deleted if it were confirmed.
    pub held_back: u64,
    /// What confirms it: the task's `confirmations` take it.
    pub confirmation: Option<String>,
    /// How many files had an error. The server's record of the source names them.
    pub errors: u64,
}

impl Outcome {
    /// Whether every file was read, and nothing is held back.
    fn is_whole(&self) -> bool {
        self.errors == 0 && self.held_back == 0
    }
}

/// Makes the index hold exactly what the sources hold. A source that cannot be synchronised does not stop the others. The server keeps beside
/// each whose it is, where that is known.
///
/// # Errors
///
/// When the server does not answer, or the index cannot be made.
pub async fn synchronise(task: &SyncTask, owner: Option<&SourceOwner>, tools: &mut Tools) -> Result<Report, SyncError> {
    let server = Server::new(tools.client.clone(), &task.index);
    if !task.sources.is_empty() {
        server.make_index(&settings(&task.settings)).await?;
    }
    let mut report = Report::default();
    for source in &task.sources {
        let outcome = one(task, source, owner, &server, tools).await;
        report.sources.push((source.name.clone(), outcome));
    }
    let all_were_read = report.sources.iter().all(|(_, outcome)| outcome.as_ref().is_ok_and(Outcome::is_whole));
    report.removed = remove(task, owner, &server, all_were_read).await?;
    Ok(report)
}

async fn one(
    task: &SyncTask,
    source: &Source,
    owner: Option<&SourceOwner>,
    server: &Server,
    tools: &mut Tools,
) -> Result<Outcome, SyncError> {
    let name = SourceName::new(&task.owner, &source.name);
    let on_server = name.on_server();
    let record = Record::begin(server, &on_server, &task.sync_id, owner).await?;
    let account = Mutex::new(Account::default());
    let mirror = Mirror::new(server, source, &name, &account);
    let mirrored = tokio::select! {
        mirrored = mirror.run(&tools.access, &mut tools.parser, &task.confirmations) => mirrored,
        lost = record.keep(&account) => Err(lost),
    };
    let account = account.into_inner();
    tell(&on_server, &account, &mirrored);
    if !matches!(mirrored, Err(SyncError::Busy(_))) {
        record.end(&last_words(&task.sync_id, &account, &mirrored, record.revision_before.clone())).await?;
    }
    let Mirrored { sent, deleted, held_back, confirmation, .. } = mirrored?;
    Ok(Outcome { sent, deleted, held_back, confirmation, errors: account.error_count() })
}

/// The revision moves only when everything of it arrived.
fn last_words(
    sync_id: &str,
    account: &Account,
    mirrored: &Result<Mirrored, SyncError>,
    revision_before: Option<String>,
) -> PutSourceSync {
    match mirrored {
        Ok(mirrored) => PutSourceSync {
            revision: mirrored.revision.clone().or(revision_before),
            held_back: mirrored.held_back,
            confirmation: mirrored.confirmation.clone(),
            ..account.record(sync_id, SyncPhase::Complete)
        },
        Err(error) => PutSourceSync {
            revision: revision_before,
            message: Some(error.to_string().chars().take(1000).collect()),
            ..account.record(sync_id, SyncPhase::Failed)
        },
    }
}

fn tell(source: &str, account: &Account, mirrored: &Result<Mirrored, SyncError>) {
    let errors = account.error_count();
    match mirrored {
        Ok(Mirrored { sent, deleted, held_back, revision, .. }) => {
            info!(source, sent, deleted, held_back, errors, revision, "the source is synchronised");
        }
        Err(error) => warn!(source, kind = error.kind(), %error, "the source could not be synchronised"),
    }
}

fn settings(options: &IndexOptions) -> IndexSettings {
    IndexSettings {
        chunking: ChunkingSettings { max_tokens: options.max_tokens, overlap_tokens: options.overlap_tokens },
        vector_index: options.vector_index.map(|kind| kind.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use ragengine_client::ClientError;

    use super::*;

    #[test]
    fn the_revision_moves_only_over_what_arrived() {
        let before = Some("r1".to_owned());
        let words = |mirrored| last_words("a", &Account::of(3), &mirrored, before.clone());
        let all = words(Ok(Mirrored { revision: Some("r2".into()), ..Mirrored::default() }));
        assert_eq!((all.phase, all.revision.as_deref(), all.total), (SyncPhase::Complete, Some("r2"), 3));
        let held = words(Ok(Mirrored { held_back: 7, ..Mirrored::default() }));
        assert_eq!((held.phase, held.revision.as_deref(), held.held_back), (SyncPhase::Complete, Some("r1"), 7));
        let failed = words(Err(SyncError::Server(ClientError::Token)));
        assert_eq!((failed.phase, failed.revision.as_deref()), (SyncPhase::Failed, Some("r1")));
        assert!(failed.message.is_some_and(|message| message.contains("token")));
    }
}

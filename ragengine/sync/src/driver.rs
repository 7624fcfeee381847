//! Synchronises all sources of a task, one after another.

use parking_lot::Mutex;
use ragengine_client::Client;
use ragengine_client::wire::{ChunkingSettings, IndexSettings, PutSourceSync, SourceOwner, SyncPhase};
use ragengine_parsers::Parser;
use ragengine_settings::sync::{IndexOptions, Source, SyncTask};
use ragengine_sources::Access;
use tracing::{info, warn};

use crate::error::SyncError;
use crate::identity::SourceName;
use crate::progress::SyncProgress;
use crate::record::{Before, Record};
use crate::removed::{Removed, remove};
use crate::server::Server;
use crate::source::{Mirror, Mirrored};

/// The connections and the parser of a synchronisation.
pub struct Tools {
    /// The client of the server, with its write token.
    pub client: Client,
    /// The network access, work folder and limits of sources.
    pub access: Access,
    /// Parses files into documents.
    pub parser: Parser,
}

/// The result of a synchronisation.
#[derive(Debug, Default)]
pub struct Report {
    /// The name and the result of each source, in the order of the task.
    pub sources: Vec<(String, Result<SyncOutcome, SyncError>)>,
    /// The result for sources that were removed from the task.
    pub removed: Removed,
}

impl Report {
    /// Whether every source was synchronised. Errors of single files do not count.
    pub fn is_success(&self) -> bool {
        self.sources.iter().all(|(_, outcome)| outcome.is_ok())
    }
}

/// The result of one source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyncOutcome {
    /// The number of documents that were sent.
    pub sent: usize,
    /// The number of documents that were deleted.
    pub deleted: usize,
    /// The number of documents whose deletion needs a confirmation.
    pub held_back: u64,
    /// The value that confirms the deletion when it is added to `confirmations` of the task.
    pub confirmation: Option<String>,
    /// The number of files with errors. The server's record of the source names the files.
    pub errors: u64,
}

impl SyncOutcome {
    /// Whether every file was read, and no deletion needs a confirmation.
    fn is_whole(&self) -> bool {
        self.errors == 0 && self.held_back == 0
    }
}

/// Synchronises an index with the sources of a task. If a source fails, the others are still synchronised. The server
/// stores the owner with each source, if there is one.
///
/// # Errors
///
/// When the server does not answer, or the index cannot be created.
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
    let all_were_read = report.sources.iter().all(|(_, outcome)| outcome.as_ref().is_ok_and(SyncOutcome::is_whole));
    report.removed = remove(task, owner, &server, all_were_read).await?;
    Ok(report)
}

async fn one(
    task: &SyncTask,
    source: &Source,
    owner: Option<&SourceOwner>,
    server: &Server,
    tools: &mut Tools,
) -> Result<SyncOutcome, SyncError> {
    let name = SourceName::new(&task.owner, &source.name);
    let on_server = name.on_server();
    let record = Record::begin(server, &on_server, &task.sync_id, owner).await?;
    let progress = Mutex::new(SyncProgress::default());
    let mirror = Mirror::new(server, source, &name, &progress);
    let mirrored = tokio::select! {
        mirrored = mirror.run(&tools.access, &mut tools.parser, &task.confirmations, &record.before) => mirrored,
        lost = record.keep(&progress) => Err(lost),
    };
    let progress = progress.into_inner();
    log_result(&on_server, &progress, &mirrored);
    if !matches!(mirrored, Err(SyncError::Busy(_))) {
        record.end(&final_record(&task.sync_id, &progress, &mirrored, record.before.clone())).await?;
    }
    let Mirrored { sent, deleted, held_back, confirmation, .. } = mirrored?;
    Ok(SyncOutcome { sent, deleted, held_back, confirmation, errors: progress.error_count() })
}

/// The final record of a source. Its revision changes only if all files of the new revision arrived. After a failure it
/// still says how many deletions were held back, because the next synchronisation must not forget them.
fn final_record(
    sync_id: &str,
    progress: &SyncProgress,
    mirrored: &Result<Mirrored, SyncError>,
    before: Before,
) -> PutSourceSync {
    match mirrored {
        Ok(mirrored) => PutSourceSync {
            revision: mirrored.revision.clone().or(before.revision),
            held_back: mirrored.held_back,
            confirmation: mirrored.confirmation.clone(),
            ..progress.record(sync_id, SyncPhase::Complete)
        },
        Err(error) => PutSourceSync {
            revision: before.revision,
            held_back: before.held_back,
            message: Some(error.to_string().chars().take(1000).collect()),
            ..progress.record(sync_id, SyncPhase::Failed)
        },
    }
}

fn log_result(source: &str, progress: &SyncProgress, mirrored: &Result<Mirrored, SyncError>) {
    let errors = progress.error_count();
    match mirrored {
        Ok(Mirrored { sent, deleted, held_back, revision, .. }) => {
            info!(source, sent, deleted, held_back, errors, revision, "source synchronised");
        }
        Err(error) => warn!(source, kind = error.kind(), %error, "source not synchronised"),
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
    fn the_revision_changes_only_when_all_files_arrived() {
        let before = Before { revision: Some("r1".to_owned()), held_back: 2 };
        let words = |mirrored| final_record("a", &SyncProgress::of(3), &mirrored, before.clone());
        let all = words(Ok(Mirrored { revision: Some("r2".into()), ..Mirrored::default() }));
        assert_eq!((all.phase, all.revision.as_deref(), all.total), (SyncPhase::Complete, Some("r2"), 3));
        let held = words(Ok(Mirrored { held_back: 7, ..Mirrored::default() }));
        assert_eq!((held.phase, held.revision.as_deref(), held.held_back), (SyncPhase::Complete, Some("r1"), 7));
        let failed = words(Err(SyncError::Server(ClientError::Token)));
        assert_eq!((failed.phase, failed.revision.as_deref(), failed.held_back), (SyncPhase::Failed, Some("r1"), 2));
        assert!(failed.message.is_some_and(|message| message.contains("token")));
    }
}

//! The server's record of a source: who synchronises it, and how far that is.

use std::time::Duration;

use parking_lot::Mutex;
use ragengine_client::wire::{PutSourceSync, SourceOwner, SyncPhase};
use tokio::time::{Instant, sleep};

use crate::account::Account;
use crate::error::SyncError;
use crate::server::Server;

/// The server lets a source go when it has not heard of its synchronisation for 60 seconds.
const RENEWAL: Duration = Duration::from_secs(10);

/// How long one that was killed is waited for: a little longer than the server holds its source.
const PATIENCE: Duration = Duration::from_secs(90);
const BETWEEN_LOOKS: Duration = Duration::from_secs(3);

/// The record of one source, held by one synchronisation.
pub struct Record<'a> {
    server: &'a Server,
    source: &'a str,
    sync_id: &'a str,
    /// The revision that the index held before.
    pub revision_before: Option<String>,
}

impl<'a> Record<'a> {
    /// Takes the record, and waits for another synchronisation to let go of it. What is said later leaves whose the source is as it is.
    ///
    /// # Errors
    ///
    /// [`SyncError::Busy`] when it does not.
    pub async fn begin(
        server: &'a Server,
        source: &'a str,
        sync_id: &'a str,
        owner: Option<&SourceOwner>,
    ) -> Result<Self, SyncError> {
        let before = server.source(source).await?;
        let began = Instant::now();
        let first = PutSourceSync { owner: owner.cloned(), ..PutSourceSync::new(sync_id, SyncPhase::Running) };
        loop {
            match server.put_record(source, &first).await {
                Ok(_) => break,
                Err(error) if error.is_conflict() && began.elapsed() < PATIENCE => sleep(BETWEEN_LOOKS).await,
                Err(error) => return Err(SyncError::of_record(error)),
            }
        }
        let revision_before = before.sync.and_then(|sync| sync.revision);
        Ok(Self { server, source, sync_id, revision_before })
    }

    /// Keeps the record for as long as it is polled. It ends only when the record is lost.
    pub async fn keep(&self, account: &Mutex<Account>) -> SyncError {
        loop {
            sleep(RENEWAL).await;
            let now = PutSourceSync {
                revision: self.revision_before.clone(),
                ..account.lock().record(self.sync_id, SyncPhase::Running)
            };
            if let Err(error) = self.server.put_record(self.source, &now).await {
                return SyncError::of_record(error);
            }
        }
    }

    /// The synchronisation has ended.
    ///
    /// # Errors
    ///
    /// When the server does not take it.
    pub async fn end(&self, record: &PutSourceSync) -> Result<(), SyncError> {
        self.server.put_record(self.source, record).await.map(drop).map_err(SyncError::of_record)
    }
}

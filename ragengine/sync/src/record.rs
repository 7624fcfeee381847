//! The server's record of a source. It holds the lock, the progress and the result of a synchronisation.

use std::time::Duration;

use parking_lot::Mutex;
use ragengine_client::wire::{PutSourceSync, SourceDescription, SourceOwner, SyncPhase};
use tokio::time::{Instant, sleep};

use crate::error::SyncError;
use crate::progress::SyncProgress;
use crate::server::Server;

/// The interval between two renewals. The server releases the record after 60 seconds without one.
const RENEWAL: Duration = Duration::from_secs(10);

/// How long to wait for the record. It is longer than the 60 seconds after which the server releases the record of a
/// synchronisation that was killed.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(90);
const RETRY_INTERVAL: Duration = Duration::from_secs(3);

/// What the previous synchronisation left.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Before {
    /// The revision that the index holds.
    pub revision: Option<String>,
    /// The number of documents whose deletion was held back.
    pub held_back: u64,
}

impl Before {
    fn of(source: SourceDescription) -> Self {
        source.sync.map_or_else(Self::default, |sync| Self { revision: sync.revision, held_back: sync.held_back })
    }
}

/// The record of a source, locked by this synchronisation.
pub struct Record<'a> {
    server: &'a Server,
    source: &'a str,
    sync_id: &'a str,
    /// What the previous synchronisation left.
    pub before: Before,
}

impl<'a> Record<'a> {
    /// Locks the record, waiting for another synchronisation to release it. Only this first request sets the owner of
    /// the source.
    ///
    /// # Errors
    ///
    /// [`SyncError::Busy`] if another synchronisation still has the record after the timeout.
    pub async fn begin(
        server: &'a Server,
        source: &'a str,
        sync_id: &'a str,
        owner: Option<&SourceOwner>,
    ) -> Result<Self, SyncError> {
        let before = Before::of(server.source(source).await?);
        let began = Instant::now();
        let first = PutSourceSync {
            owner: owner.cloned(),
            held_back: before.held_back,
            ..PutSourceSync::new(sync_id, SyncPhase::Running)
        };
        loop {
            match server.put_record(source, &first).await {
                Ok(_) => break,
                Err(error) if error.is_conflict() && began.elapsed() < ACQUIRE_TIMEOUT => sleep(RETRY_INTERVAL).await,
                Err(error) => return Err(SyncError::of_record(error)),
            }
        }
        Ok(Self { server, source, sync_id, before })
    }

    /// Renews the record while the future is polled. Returns only when the record is lost.
    pub async fn keep(&self, progress: &Mutex<SyncProgress>) -> SyncError {
        loop {
            sleep(RENEWAL).await;
            let now = PutSourceSync {
                revision: self.before.revision.clone(),
                held_back: self.before.held_back,
                ..progress.lock().record(self.sync_id, SyncPhase::Running)
            };
            if let Err(error) = self.server.put_record(self.source, &now).await {
                return SyncError::of_record(error);
            }
        }
    }

    /// Writes the result, which releases the record.
    ///
    /// # Errors
    ///
    /// When the server refuses it or does not answer.
    pub async fn end(&self, record: &PutSourceSync) -> Result<(), SyncError> {
        self.server.put_record(self.source, record).await.map(drop).map_err(SyncError::of_record)
    }
}

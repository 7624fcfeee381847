//! The server, which may be away for a while: it is started again, or still loads.

use std::time::Duration;

use backon::{ExponentialBuilder, Retryable as _};
use ragengine_client::wire::{
    DeletedSource, Document, IndexDescription, IndexSettings, PutSourceSync, SourceDescription, SourceDocument,
};
use ragengine_client::{Client, ClientError};

/// The first pause, the longest, and how long all of them together may be.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
const PATIENCE: Duration = Duration::from_secs(180);

/// One index of a server.
#[derive(Debug, Clone)]
pub struct Server {
    client: Client,
    index: String,
}

impl Server {
    /// An index, which need not be there.
    pub fn new(client: Client, index: &str) -> Self {
        Self { client, index: index.to_owned() }
    }

    pub async fn make_index(&self, settings: &IndexSettings) -> Result<IndexDescription, ClientError> {
        patiently(|| self.client.put_index(&self.index, settings)).await
    }

    /// None when there is no such index.
    pub async fn sources(&self) -> Result<Vec<SourceDescription>, ClientError> {
        match patiently(|| self.client.sources(&self.index)).await {
            Err(error) if error.is_not_found() => Ok(Vec::new()),
            sources => sources,
        }
    }

    pub async fn source(&self, source: &str) -> Result<SourceDescription, ClientError> {
        patiently(|| self.client.source(&self.index, source)).await
    }

    pub async fn documents(&self, source: &str) -> Result<Vec<SourceDocument>, ClientError> {
        patiently(|| self.client.source_documents(&self.index, source)).await
    }

    pub async fn put_record(&self, source: &str, record: &PutSourceSync) -> Result<SourceDescription, ClientError> {
        patiently(|| self.client.put_source_sync(&self.index, source, record)).await
    }

    pub async fn add(&self, documents: &[Document]) -> Result<(), ClientError> {
        patiently(|| self.client.add(&self.index, documents.to_vec())).await.map(drop)
    }

    pub async fn delete(&self, doc_ids: &[String]) -> Result<usize, ClientError> {
        let deleted = patiently(|| self.client.delete(&self.index, doc_ids.to_vec())).await?;
        Ok(deleted.deleted_doc_ids.len())
    }

    pub async fn delete_source(&self, source: &str) -> Result<DeletedSource, ClientError> {
        patiently(|| self.client.delete_source(&self.index, source)).await
    }
}

/// Again, while the server may only be away. Everything that is asked of it may be asked twice.
async fn patiently<T, F>(request: impl FnMut() -> F) -> Result<T, ClientError>
where
    F: Future<Output = Result<T, ClientError>>,
{
    let pauses = ExponentialBuilder::default()
        .with_min_delay(FIRST_PAUSE)
        .with_max_delay(LONGEST_PAUSE)
        .with_total_delay(Some(PATIENCE))
        .without_max_times()
        .with_jitter();
    request
        .retry(pauses)
        .when(may_pass)
        .notify(|error, pause| tracing::warn!(%error, retry_in_s = pause.as_secs_f64(), "the server does not answer as it should"))
        .await
}

fn may_pass(error: &ClientError) -> bool {
    match error {
        ClientError::Unreachable { .. } | ClientError::Transport { .. } => true,
        // 507: the disk is full, which passes when somebody makes room; not within minutes.
        ClientError::Refused { status, .. } => matches!(status, 429 | 500 | 502 | 503 | 504),
        ClientError::Address(_) | ClientError::Token | ClientError::Http(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_may_pass_is_tried_again() {
        let refused = |status| ClientError::Refused { status, message: String::new() };
        for (status, expected) in
            [(400, false), (401, false), (404, false), (409, false), (429, true), (503, true), (507, false)]
        {
            assert_eq!(may_pass(&refused(status)), expected, "{status}");
        }
        assert!(may_pass(&ClientError::Unreachable { url: String::new(), reason: String::new() }));
        assert!(!may_pass(&ClientError::Token));
    }
}

//! Requests to the server. They are retried, because the server may be restarting or loading.

use std::time::Duration;

use backon::{ExponentialBuilder, Retryable as _};
use ragengine_client::wire::{
    DeletedSource, Document, IndexDescription, IndexSettings, PutSourceSync, SourceDescription, SourceDocument,
};
use ragengine_client::{Client, ClientError};

/// The first pause between two attempts, the longest one, and the maximum total time of all pauses.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
const TOTAL_PAUSE: Duration = Duration::from_secs(180);

/// One index on a server.
#[derive(Debug, Clone)]
pub struct Server {
    client: Client,
    index: String,
}

impl Server {
    /// An index, which may not exist yet.
    pub fn new(client: Client, index: &str) -> Self {
        Self { client, index: index.to_owned() }
    }

    pub async fn make_index(&self, settings: &IndexSettings) -> Result<IndexDescription, ClientError> {
        with_retries(|| self.client.put_index(&self.index, settings)).await
    }

    /// An empty list if the index does not exist.
    pub async fn sources(&self) -> Result<Vec<SourceDescription>, ClientError> {
        match with_retries(|| self.client.sources(&self.index)).await {
            Err(error) if error.is_not_found() => Ok(Vec::new()),
            sources => sources,
        }
    }

    pub async fn source(&self, source: &str) -> Result<SourceDescription, ClientError> {
        with_retries(|| self.client.source(&self.index, source)).await
    }

    pub async fn documents(&self, source: &str) -> Result<Vec<SourceDocument>, ClientError> {
        with_retries(|| self.client.source_documents(&self.index, source)).await
    }

    pub async fn put_record(&self, source: &str, record: &PutSourceSync) -> Result<SourceDescription, ClientError> {
        with_retries(|| self.client.put_source_sync(&self.index, source, record)).await
    }

    pub async fn add(&self, documents: &[Document]) -> Result<(), ClientError> {
        with_retries(|| self.client.add(&self.index, documents.to_vec())).await.map(drop)
    }

    pub async fn delete(&self, doc_ids: &[String]) -> Result<usize, ClientError> {
        let deleted = with_retries(|| self.client.delete(&self.index, doc_ids.to_vec())).await?;
        Ok(deleted.deleted_doc_ids.len())
    }

    pub async fn delete_source(&self, source: &str) -> Result<DeletedSource, ClientError> {
        with_retries(|| self.client.delete_source(&self.index, source)).await
    }
}

/// Retries a request while the error may be temporary. All requests are idempotent.
async fn with_retries<T, F>(request: impl FnMut() -> F) -> Result<T, ClientError>
where
    F: Future<Output = Result<T, ClientError>>,
{
    let pauses = ExponentialBuilder::default()
        .with_min_delay(FIRST_PAUSE)
        .with_max_delay(LONGEST_PAUSE)
        .with_total_delay(Some(TOTAL_PAUSE))
        .without_max_times()
        .with_jitter();
    request
        .retry(pauses)
        .when(is_temporary)
        .notify(|error, pause| {
            tracing::warn!(%error, retry_in_s = pause.as_secs_f64(), "request to the server failed, retrying");
        })
        .await
}

fn is_temporary(error: &ClientError) -> bool {
    match error {
        // A certificate may be one that is just being renewed.
        ClientError::Unreachable { .. } | ClientError::Untrusted { .. } | ClientError::Transport { .. } => true,
        // 507 (the disk is full) is not retried: it does not pass within minutes.
        ClientError::Refused { status, .. } => matches!(status, 429 | 500 | 502 | 503 | 504),
        ClientError::Address(_) | ClientError::Token | ClientError::Authorities | ClientError::Http(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_temporary_errors_are_retried() {
        let refused = |status| ClientError::Refused { status, message: String::new() };
        for (status, expected) in
            [(400, false), (401, false), (404, false), (409, false), (429, true), (503, true), (507, false)]
        {
            assert_eq!(is_temporary(&refused(status)), expected, "{status}");
        }
        assert!(is_temporary(&ClientError::Unreachable { url: String::new(), reason: String::new() }));
        assert!(!is_temporary(&ClientError::Token));
    }
}

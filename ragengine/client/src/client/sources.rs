//! Requests for the sources of an index and their synchronisations.

use reqwest::Method;

use super::{Client, ClientError};
use crate::wire::{DeletedSource, ListSources, PutSourceSync, SourceDescription};

impl Client {
    /// Lists all sources of an index, ordered by name.
    ///
    /// # Errors
    ///
    /// As [`Self::index`].
    pub async fn sources(&self, index_name: &str) -> Result<Vec<SourceDescription>, ClientError> {
        self.send(Method::GET, &["indexes", index_name, "sources"], None::<&()>).await
    }

    /// Lists selected sources of an index.
    ///
    /// # Errors
    ///
    /// As [`Self::index`].
    pub async fn some_sources(
        &self,
        index_name: &str,
        which: &ListSources,
    ) -> Result<Vec<SourceDescription>, ClientError> {
        let mut url = self.url(&["indexes", index_name, "sources"]);
        let max_errors = which.max_errors.map(|count| count.to_string());
        let pairs = [("owner", which.owner.as_ref()), ("max_errors", max_errors.as_ref())];
        url.query_pairs_mut().extend_pairs(pairs.into_iter().filter_map(|(name, value)| Some((name, value?))));
        self.read(self.authorized(self.http.get(url))).await
    }

    /// Describes a source of an index. An unknown source has no documents.
    ///
    /// # Errors
    ///
    /// As [`Self::index`].
    pub async fn source(&self, index_name: &str, source: &str) -> Result<SourceDescription, ClientError> {
        self.send(Method::GET, &["indexes", index_name, "sources", source], None::<&()>).await
    }

    /// Reports the state of a source's synchronisation. While it runs, report at least once a minute; otherwise another
    /// synchronisation may take over the source.
    ///
    /// # Errors
    ///
    /// When another synchronisation has locked the source (see [`ClientError::is_conflict`]), the server refuses, or
    /// does not answer.
    pub async fn put_source_sync(
        &self,
        index_name: &str,
        source: &str,
        sync: &PutSourceSync,
    ) -> Result<SourceDescription, ClientError> {
        self.send(Method::PUT, &["indexes", index_name, "sources", source], Some(sync)).await
    }

    /// Deletes a source: its documents and the record of its synchronisation. Deleting an unknown source succeeds.
    ///
    /// # Errors
    ///
    /// As [`Self::index`].
    pub async fn delete_source(&self, index_name: &str, source: &str) -> Result<DeletedSource, ClientError> {
        self.send(Method::DELETE, &["indexes", index_name, "sources", source], None::<&()>).await
    }
}

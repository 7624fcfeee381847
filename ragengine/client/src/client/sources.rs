//! The sources of an index, and how far their synchronisations are.

use reqwest::Method;

use super::{Client, ClientError};
use crate::wire::{DeletedSource, ListSources, PutSourceSync, SourceDescription};

impl Client {
    /// All sources of an index, in the order of their names.
    ///
    /// # Errors
    ///
    /// As [`Self::index`].
    pub async fn sources(&self, index_name: &str) -> Result<Vec<SourceDescription>, ClientError> {
        self.send(Method::GET, &["indexes", index_name, "sources"], None::<&()>).await
    }

    /// Some sources of an index, and as much of each as was asked for.
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

    /// A source of an index. One that is not known has nothing.
    ///
    /// # Errors
    ///
    /// As [`Self::index`].
    pub async fn source(&self, index_name: &str, source: &str) -> Result<SourceDescription, ClientError> {
        self.send(Method::GET, &["indexes", index_name, "sources", source], None::<&()>).await
    }

    /// Says how far the synchronisation of a source is. While it runs this has to be said again within a minute each time, or another
    /// one may have the source.
    ///
    /// # Errors
    ///
    /// When another synchronisation has the source (see [`ClientError::is_conflict`]), the server refuses, or nobody answers.
    pub async fn put_source_sync(
        &self,
        index_name: &str,
        source: &str,
        sync: &PutSourceSync,
    ) -> Result<SourceDescription, ClientError> {
        self.send(Method::PUT, &["indexes", index_name, "sources", source], Some(sync)).await
    }

    /// Deletes a source: its documents and what is known of its synchronisation. One that is not known had nothing.
    ///
    /// # Errors
    ///
    /// As [`Self::index`].
    pub async fn delete_source(&self, index_name: &str, source: &str) -> Result<DeletedSource, ClientError> {
        self.send(Method::DELETE, &["indexes", index_name, "sources", source], None::<&()>).await
    }
}

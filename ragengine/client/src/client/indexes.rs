//! Indexes.

use reqwest::Method;

use super::{Client, ClientError};
use crate::wire::{IndexDescription, IndexSettings};

impl Client {
    /// Makes an index, or confirms that it is there with these settings.
    ///
    /// # Errors
    ///
    /// When the server refuses or nobody answers.
    pub async fn put_index(&self, name: &str, settings: &IndexSettings) -> Result<IndexDescription, ClientError> {
        self.send(Method::PUT, &["indexes", name], Some(settings)).await
    }

    /// An index.
    ///
    /// # Errors
    ///
    /// When there is none (see [`ClientError::is_not_found`]) or nobody answers.
    pub async fn index(&self, name: &str) -> Result<IndexDescription, ClientError> {
        self.send(Method::GET, &["indexes", name], None::<&()>).await
    }
}

//! Requests for indexes.

use reqwest::Method;

use super::{Client, ClientError};
use crate::wire::{IndexDescription, IndexSettings, Message};

impl Client {
    /// Creates an index, or confirms that it exists with these settings.
    ///
    /// # Errors
    ///
    /// When the server refuses or does not answer.
    pub async fn put_index(&self, name: &str, settings: &IndexSettings) -> Result<IndexDescription, ClientError> {
        self.send(Method::PUT, &["indexes", name], Some(settings)).await
    }

    /// Deletes an index.
    ///
    /// # Errors
    ///
    /// When it does not exist (see [`ClientError::is_not_found`]), or the server refuses or does not answer.
    pub async fn delete_index(&self, name: &str) -> Result<Message, ClientError> {
        self.send(Method::DELETE, &["indexes", name], None::<&()>).await
    }

    /// Describes an index.
    ///
    /// # Errors
    ///
    /// When it does not exist (see [`ClientError::is_not_found`]) or the server does not answer.
    pub async fn index(&self, name: &str) -> Result<IndexDescription, ClientError> {
        self.send(Method::GET, &["indexes", name], None::<&()>).await
    }
}

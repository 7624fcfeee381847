//! How the server is.

use std::time::Duration;

use super::{Client, ClientError};
use crate::wire::{EngineStatus, Readiness};

/// A server that cannot say how it is within this time has a problem of its own.
const STATUS_TIMEOUT: Duration = Duration::from_secs(5);

impl Client {
    /// Whether the server can answer, and what it waits for.
    ///
    /// # Errors
    ///
    /// When nobody answers, or not as this server does.
    pub async fn readiness(&self) -> Result<Readiness, ClientError> {
        let response = self.http.get(self.url(&["readyz"])).send().await.map_err(|error| self.transport(&error))?;
        response.json().await.map_err(|error| self.transport(&error))
    }

    /// How the server is. It is waited for at most 5 seconds.
    ///
    /// # Errors
    ///
    /// When nobody answers, or not as this server does.
    pub async fn status(&self) -> Result<EngineStatus, ClientError> {
        self.read(self.http.get(self.url(&["status"])).timeout(STATUS_TIMEOUT)).await
    }
}

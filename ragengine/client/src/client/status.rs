//! Requests for the state of the server.

use std::time::Duration;

use super::{Client, ClientError};
use crate::wire::{EngineStatus, Readiness};

/// Short, because the status is cheap to compute.
const STATUS_TIMEOUT: Duration = Duration::from_secs(5);

impl Client {
    /// The readiness of the server.
    ///
    /// # Errors
    ///
    /// When the server does not answer, or its reply is invalid.
    pub async fn readiness(&self) -> Result<Readiness, ClientError> {
        let response = self.http.get(self.url(&["readyz"])).send().await.map_err(|error| self.transport(&error))?;
        response.json().await.map_err(|error| self.transport(&error))
    }

    /// The status of the server. The timeout is 5 seconds.
    ///
    /// # Errors
    ///
    /// When the server does not answer, or its reply is invalid.
    pub async fn status(&self) -> Result<EngineStatus, ClientError> {
        self.read(self.http.get(self.url(&["status"])).timeout(STATUS_TIMEOUT)).await
    }
}

//! The token for writes. Its file is reread while the server runs.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::http::{HeaderMap, header};
use parking_lot::RwLock;
use ragengine_settings::{Auth, SecretReference};
use tokio::time::MissedTickBehavior;
use tracing::{info, warn};

use super::Unauthorized;
use super::accepted::{Accepted, TokenChange};
use super::unauthorized::Missing;
use crate::secrets::{self, SecretError};

/// How often the file is reread. Short, because users wait for a new token to take effect.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// The token for writes. Only its hash is kept.
pub struct WriteToken {
    reference: SecretReference,
    source: Option<Arc<str>>,
    previous_validity: Duration,
    accepted: RwLock<Accepted>,
}

impl WriteToken {
    /// Reads the token of the settings. `None` if writes need no token.
    ///
    /// # Errors
    ///
    /// [`SecretError`] when it cannot be read.
    pub fn read(auth: &Auth) -> Result<Option<Self>, SecretError> {
        let Some(reference) = &auth.write_token else { return Ok(None) };
        Ok(Some(Self {
            accepted: RwLock::new(Accepted::only(&secrets::read(reference)?)),
            reference: reference.clone(),
            source: auth.write_token_source.as_deref().map(Arc::from),
            previous_validity: Duration::from_secs(auth.previous_token_seconds),
        }))
    }

    /// Checks the Authorization header.
    ///
    /// # Errors
    ///
    /// [`Unauthorized`] when the token is missing or wrong.
    pub fn check(&self, headers: &HeaderMap) -> Result<(), Unauthorized> {
        let missing = match headers.get(header::AUTHORIZATION).map(|value| bearer(value.as_bytes())) {
            Some(Some(token)) if self.accepted.read().includes(token, Instant::now()) => return Ok(()),
            Some(Some(_)) => Missing::OtherToken,
            Some(None) => Missing::Bearer,
            None => Missing::Everything,
        };
        Err(Unauthorized { missing, source: self.source.clone() })
    }

    /// Rereads the file every two seconds, as long as the server runs.
    pub async fn watch(self: Arc<Self>) {
        let SecretReference::File(path) = &self.reference else { return };
        let mut looks = tokio::time::interval(LOOK_EVERY);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            looks.tick().await;
            let reference = self.reference.clone();
            // Fails when the server stops.
            let Ok(read) = tokio::task::spawn_blocking(move || secrets::read(&reference)).await else { return };
            let change = self.accepted.write().replace(read.as_ref().ok(), Instant::now(), self.previous_validity);
            let (path, previous_holds_s) = (path.display(), self.previous_validity.as_secs());
            match (change, read.err()) {
                (Some(TokenChange::Changed), _) => info!(%path, previous_holds_s, "write token changed"),
                (Some(TokenChange::Lost), Some(error)) => {
                    warn!(%error, "the write token cannot be reread: the last one stays valid");
                }
                (Some(TokenChange::Lost) | None, _) => {}
            }
        }
    }
}

/// Returns the token in the value of the header. The scheme is case-insensitive.
pub(super) fn bearer(value: &[u8]) -> Option<&[u8]> {
    let (scheme, token) = value.split_at_checked("Bearer ".len())?;
    let token = token.trim_ascii();
    (scheme.eq_ignore_ascii_case(b"Bearer ") && !token.is_empty()).then_some(token)
}

#[cfg(test)]
mod tests {
    use super::bearer;

    #[test]
    fn a_bearer_scheme_is_case_insensitive() {
        for (value, token) in [
            ("Bearer abc", Some("abc")),
            ("bearer  abc ", Some("abc")),
            ("Bearer ", None),
            ("Bearer", None),
            ("Basic abc", None),
            ("abc", None),
            ("", None),
        ] {
            assert_eq!(bearer(value.as_bytes()), token.map(str::as_bytes), "{value}");
        }
    }
}

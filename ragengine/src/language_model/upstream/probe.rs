use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use ragengine_embedding::Secret;
use serde::Deserialize;
use serde_json::Value;
use tracing::{info, warn};

use super::Upstream;
use super::endpoint::Endpoint;
use super::reply::{read_bounded, said, unreachable};
use crate::language_model::LlmError;
use crate::language_model::health::{Cause, Change, Heard, Sign, State};
use ragengine_errors::texts;

/// The time limit for fetching the list of models.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The longest list of models that is read, in bytes.
const MAX_BYTES: usize = 4 << 20;

/// The longest error message, in characters.
const MAX_WORDS: usize = 300;

impl Upstream {
    /// Fetches the endpoint's list of models periodically until the server stops. The first fetch is immediate.
    pub async fn watch(self: Arc<Self>) {
        let Some(period) = self.probe_period else { return };
        loop {
            self.sees(self.endpoint.probe().await);
            let pause = spread(period, RandomState::new().build_hasher().finish());
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = self.is_in_doubt.notified() => {}
            }
        }
    }

    /// Whether the endpoint may be asked something without a request of a caller.
    pub fn is_probed(&self) -> bool {
        self.probe_period.is_some()
    }

    /// Describes what is wrong with the endpoint. None if it answers or nothing is known.
    pub fn problem(&self) -> Option<String> {
        let State::Down { cause, heard } = self.health.state() else { return None };
        let subject = format!("the language model at {}", self.endpoint.addresses.shown);
        Some(match (cause, &self.endpoint.api_key) {
            (Cause::Silent, _) => format!("{subject} does not answer: {heard}"),
            (_, Some(_)) => format!("{subject} refuses the key: {heard}"),
            (_, None) => format!("{subject} refuses requests without a key (inferenceService.apiKey): {heard}"),
        })
    }

    /// Whether the endpoint answers. None if nothing is known.
    pub fn is_up(&self) -> Option<bool> {
        match self.health.state() {
            State::Unknown => None,
            State::Up => Some(true),
            State::Down { .. } => Some(false),
        }
    }

    /// Updates the health with the result of a chat.
    pub(super) fn chat_was(&self, failure: Option<&LlmError>) {
        let sign = match failure {
            None => Sign::ChatAnswered,
            Some(LlmError::Refused { status: 401, message, .. }) => Sign::ChatUnauthorized(refusal(401, message)),
            Some(LlmError::Refused { status: 403, message, .. }) => Sign::ChatForbidden(refusal(403, message)),
            Some(LlmError::Refused { status: 500.., .. } | LlmError::Timeout { .. } | LlmError::Unreachable { .. }) => {
                Sign::ChatFailed
            }
            Some(_) => return,
        };
        self.sees(sign);
    }

    fn log_problem(&self, cause: Cause) {
        let State::Down { heard, .. } = self.health.state() else { return };
        let (url, cause, said) = (&*self.endpoint.addresses.shown, cause.label(), texts::text(&heard.message));
        warn!(url, cause, reason = heard.what, said, "language model is down");
    }

    fn sees(&self, sign: Sign) {
        let change = self.health.sees(sign);
        match change {
            Some(Change::WentDown(cause)) => self.log_problem(cause),
            Some(Change::CameBack) => {
                info!("language model is back");
                self.endpoint.drop_empty_facts();
            }
            None => {}
        }
        // Fetching the list now shows whether it is refused too, and so whether later lists can be trusted.
        if change == Some(Change::WentDown(Cause::ChatUnauthorized)) {
            self.is_in_doubt.notify_one();
        }
    }
}

impl Endpoint {
    /// Fetches the list of models once.
    async fn probe(&self) -> Sign {
        let asking = async {
            let response = self.http.get(self.addresses.models.clone()).headers(self.authorization()).send().await?;
            let status = response.status();
            let body = read_bounded(response.bytes_stream(), MAX_BYTES).await;
            Ok::<_, reqwest::Error>((status, body.unwrap_or_default()))
        };
        match tokio::time::timeout(TIMEOUT, asking).await {
            Ok(Ok((status, body))) => {
                let (sign, models) = (sign(status, &body, self.api_key.as_ref()), listed(&body));
                self.lists(models.iter().map(String::as_str));
                sign
            }
            Ok(Err(error)) => match unreachable(&error, Arc::clone(&self.addresses.shown)) {
                LlmError::Unreachable { reason, .. } => Sign::Silent(happened(reason)),
                other => Sign::Silent(happened(other.to_string())),
            },
            Err(_) => Sign::Silent(happened(format!("nothing came within {} s", TIMEOUT.as_secs()))),
        }
    }
}

/// Interprets the reply to a request for the list of models.
fn sign(status: StatusCode, body: &[u8], api_key: Option<&Secret>) -> Sign {
    let words = || refusal(status.as_u16(), &said(body, api_key).0);
    match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Sign::ListRefused(words()),
        // Among the 5xx errors, only this one means that the endpoint has no list.
        StatusCode::NOT_IMPLEMENTED => Sign::NoList,
        status if status.is_server_error() => Sign::Silent(words()),
        StatusCode::OK if is_list(body) => Sign::Listed,
        _ => Sign::NoList,
    }
}

fn is_list(body: &[u8]) -> bool {
    serde_json::from_slice::<Value>(body).is_ok_and(|models| models["data"].is_array() || models.is_array())
}

/// The names in a list of models. Empty if the body is not a list of models.
fn listed(body: &[u8]) -> Vec<String> {
    #[derive(Deserialize)]
    struct List {
        data: Vec<Listed>,
    }
    #[derive(Deserialize)]
    struct Listed {
        id: String,
    }
    let list: Option<List> = serde_json::from_slice(body).ok();
    list.into_iter().flat_map(|list| list.data).map(|model| model.id).collect()
}

fn refusal(status: u16, message: &str) -> Heard {
    Heard { what: status.to_string(), message: message.chars().take(MAX_WORDS).collect() }
}

fn happened(what: String) -> Heard {
    Heard { what, message: String::new() }
}

/// A random pause of about this length, so that servers started together do not send requests together.
fn spread(period: Duration, random: u64) -> Duration {
    period.mul_f64(0.9) + period.mul_f64(0.2 * (random as f64 / u64::MAX as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_answers_say() {
        let key = Secret::new("sk-1");
        let sign = |status: u16, body: &str| sign(StatusCode::from_u16(status).unwrap(), body.as_bytes(), Some(&key));
        for body in [r#"{"data": []}"#, r#"{"object": "list", "data": [{"id": "m"}]}"#, r#"[{"id": "m"}]"#] {
            assert_eq!(sign(200, body), Sign::Listed, "{body}");
        }
        for (status, body) in [
            (200, "<html>"),
            (200, "{}"),
            (204, ""),
            (302, ""),
            (404, "no"),
            (405, ""),
            (501, ""),
            (429, r#"{"error": {"message": "slow down"}}"#),
        ] {
            assert_eq!(sign(status, body), Sign::NoList, "{status} {body}");
        }
        for (status, body, words) in [
            (401, r#"{"error": {"message": "bad key sk-1"}}"#, "401: bad key ***"),
            (403, "not you", "403: not you"),
            (401, "", "401"),
        ] {
            let Sign::ListRefused(heard) = sign(status, body) else { panic!("{status} {body}") };
            assert_eq!(heard.to_string(), words, "{status} {body}");
        }
        let Sign::Silent(heard) = sign(503, "no sk-1 upstream\n") else { panic!("not silent") };
        assert_eq!(heard.to_string(), "503: no *** upstream");
        let Sign::Silent(heard) = sign(500, &"x".repeat(5000)) else { panic!("not silent") };
        assert!(heard.to_string().len() < 400, "{}", heard.to_string().len());
    }

    #[test]
    fn pauses_are_spread_around_the_period() {
        let period = Duration::from_secs(30);
        assert_eq!(spread(period, 0), Duration::from_secs(27));
        assert_eq!(spread(period, u64::MAX), Duration::from_secs(33));
    }
}

//! The issuer of the cluster's ServiceAccount tokens: its name and its keys, which servers check tokens with.

use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::watch;
use tracing::{info, warn};

use crate::requests::within_limit;

/// Where the API server states its name.
const CONFIGURATION: &str = "/.well-known/openid-configuration";
/// Where the API server publishes its keys.
const KEYS: &str = "/openid/v1/jwks";
/// The interval between two reads, after a success and after a failure.
const INTERVALS: (Duration, Duration) = (Duration::from_secs(600), Duration::from_secs(30));
/// The longest name of an issuer that the server's settings may have, in bytes.
const MAX_NAME_BYTES: usize = 200;
/// The longest set of keys that is handed over, in bytes. A ConfigMap has room for 1 MiB, also for the rules.
const MAX_KEYS_BYTES: usize = 128 << 10;

/// The issuer's name and keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issuer {
    /// The claim `iss` of its tokens.
    pub name: String,
    /// Its public keys, as a JSON Web Key Set.
    pub keys: String,
}

/// What is known about the issuer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Known {
    /// The issuer as it was read last.
    pub issuer: Option<Arc<Issuer>>,
    /// Why the last read failed, if it did.
    pub error: Option<String>,
}

/// The issuer, read again and again.
#[derive(Debug, Default)]
pub struct ClusterIssuer(watch::Sender<Known>);

/// Why the issuer could not be read.
#[derive(Debug, thiserror::Error)]
enum Unreadable {
    #[error("{path}: {source}")]
    Request { path: &'static str, source: kube::Error },
    #[error("{path}: {problem}")]
    Content { path: &'static str, problem: String },
}

#[derive(Deserialize)]
struct Configuration {
    issuer: String,
}

impl ClusterIssuer {
    /// What is known now.
    pub fn known(&self) -> Known {
        self.0.borrow().clone()
    }

    /// Notifies of changes.
    pub fn changes(&self) -> watch::Receiver<Known> {
        self.0.subscribe()
    }

    /// Notes the result of a read. After a failure the last issuer is kept.
    pub fn note(&self, read: Result<Issuer, String>) {
        self.0.send_if_modified(|known| {
            let next = match read {
                Ok(issuer) => Known { issuer: Some(Arc::new(issuer)), error: None },
                Err(error) => Known { issuer: known.issuer.clone(), error: Some(error) },
            };
            let is_changed = next != *known;
            *known = next;
            is_changed
        });
    }

    /// Reads the issuer again and again.
    pub async fn run(&self, client: &Client) {
        loop {
            let read = read(client).await;
            let pause = if read.is_ok() { INTERVALS.0 } else { INTERVALS.1 };
            match (&read, self.known().error) {
                (Err(error), None) => {
                    warn!(%error, "the keys of the cluster's ServiceAccount tokens cannot be read: the last ones are kept");
                }
                (Ok(_), Some(_)) => info!("the keys of the cluster's ServiceAccount tokens are read again"),
                _ => {}
            }
            self.note(read.map_err(|error| error.to_string()));
            tokio::time::sleep(pause).await;
        }
    }
}

async fn read(client: &Client) -> Result<Issuer, Unreadable> {
    let name = issuer_name(&get(client, CONFIGURATION).await?);
    let name = name.map_err(|problem| Unreadable::Content { path: CONFIGURATION, problem })?;
    let keys = key_set(&get(client, KEYS).await?);
    let keys = keys.map_err(|problem| Unreadable::Content { path: KEYS, problem })?;
    Ok(Issuer { name, keys })
}

async fn get(client: &Client, path: &'static str) -> Result<String, Unreadable> {
    // The type of the body does not matter, because there is none.
    let request = axum::http::Request::get(path).body(Vec::new()).map_err(kube::Error::HttpError);
    let reply = async { within_limit(client.request_text(request?)).await };
    reply.await.map_err(|source| Unreadable::Request { path, source })
}

fn issuer_name(configuration: &str) -> Result<String, String> {
    let Configuration { issuer } = serde_json::from_str(configuration).map_err(|error| error.to_string())?;
    if !(1..=MAX_NAME_BYTES).contains(&issuer.len()) {
        return Err(format!("the issuer has {} bytes instead of 1 to {MAX_NAME_BYTES}", issuer.len()));
    }
    Ok(issuer)
}

/// The keys without spaces.
fn key_set(text: &str) -> Result<String, String> {
    let set: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if set["keys"].as_array().is_none_or(Vec::is_empty) {
        return Err("the set has no keys".to_owned());
    }
    let text = set.to_string();
    if text.len() > MAX_KEYS_BYTES {
        return Err(format!("the set has more than {MAX_KEYS_BYTES} bytes"));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use axum::body::Body;
    use axum::http::{Request, Response};

    use super::*;

    /// An API server that publishes this.
    fn api_server(configuration: &'static str, keys: &'static str) -> Client {
        let service = tower::service_fn(move |request: Request<kube::client::Body>| async move {
            let (code, body) = match request.uri().path() {
                CONFIGURATION => (200, configuration),
                KEYS => (200, keys),
                _ => (404, "{}"),
            };
            Ok::<_, Infallible>(Response::builder().status(code).body(Body::from(body)).unwrap())
        });
        Client::new(service, "default")
    }

    #[tokio::test]
    async fn name_and_keys_are_read_from_the_api_server() {
        let configuration = r#"{"issuer": "https://a", "jwks_uri": "https://10.0.0.1/openid/v1/jwks"}"#;
        assert_eq!(read(&api_server(configuration, r#"{"keys": [{}]}"#)).await.unwrap(), issuer("https://a"));
        for (configuration, keys, path) in
            [("<html>", r#"{"keys": [{}]}"#, CONFIGURATION), (configuration, r#"{"keys": []}"#, KEYS)]
        {
            let error = read(&api_server(configuration, keys)).await.unwrap_err().to_string();
            assert!(error.starts_with(path), "{error}");
        }
    }

    fn issuer(name: &str) -> Issuer {
        Issuer { name: name.to_owned(), keys: r#"{"keys":[{}]}"#.to_owned() }
    }

    #[test]
    fn the_last_issuer_stays_when_reading_fails() {
        let cluster = ClusterIssuer::default();
        let mut changes = cluster.changes();
        cluster.note(Err("403".to_owned()));
        assert_eq!(cluster.known(), Known { issuer: None, error: Some("403".to_owned()) });
        cluster.note(Ok(issuer("a")));
        assert!(changes.has_changed().unwrap());
        changes.mark_unchanged();
        cluster.note(Ok(issuer("a")));
        assert!(!changes.has_changed().unwrap(), "the same again is no change");
        cluster.note(Err("503".to_owned()));
        let known = cluster.known();
        assert_eq!((known.issuer.unwrap().name.as_str(), known.error.as_deref()), ("a", Some("503")));
    }

    #[test]
    fn a_reply_without_a_name_or_keys_is_an_error() {
        assert_eq!(issuer_name(r#"{"issuer": "https://a", "jwks_uri": "https://b"}"#).unwrap(), "https://a");
        for wrong in ["", "{}", r#"{"issuer": ""}"#, &format!(r#"{{"issuer": "{}"}}"#, "a".repeat(201))] {
            assert!(issuer_name(wrong).is_err(), "{wrong}");
        }
        let keys = r#"{"keys": [ {"kid": "b", "alg": "RS256"} ]}"#;
        assert_eq!(key_set(keys).unwrap(), r#"{"keys":[{"kid":"b","alg":"RS256"}]}"#);
        for wrong in ["", "[]", "{}", r#"{"keys": []}"#, r#"{"keys": {}}"#] {
            assert!(key_set(wrong).is_err(), "{wrong}");
        }
    }
}

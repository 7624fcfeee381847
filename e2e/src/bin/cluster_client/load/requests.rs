//! Requests that are sent again while no server answers.

use std::time::{Duration, Instant};

use anyhow::Context as _;
use reqwest::{Client, Method, Url};
use serde_json::Value;

/// A request succeeds within this time.
const LIMIT: Duration = Duration::from_secs(30);

/// The time limits of one attempt.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(20);

/// The delay before the next attempt.
const AGAIN_AFTER: Duration = Duration::from_millis(300);

/// The answers of a server, or of something before it, that cannot serve now.
const TEMPORARY: [u16; 3] = [502, 503, 504];

/// A client of one server.
pub struct Requests {
    client: Client,
    server: Url,
}

impl Requests {
    /// Each request has its own connection. A server that stops may close one that is kept open just when the next
    /// request is on its way, which a client cannot tell from a failure.
    pub fn to(server: Url) -> anyhow::Result<Self> {
        drop(rustls::crypto::ring::default_provider().install_default());
        let client = Client::builder().no_proxy().tls_certs_only([]).pool_max_idle_per_host(0);
        let client = client.connect_timeout(CONNECT_TIMEOUT).timeout(ATTEMPT_TIMEOUT).build()?;
        Ok(Self { client, server })
    }

    /// Returns the status and the body of the first answer that is not temporary. Calls `note` with the reason before
    /// every further attempt.
    pub async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        note: impl Fn(String),
    ) -> Result<(u16, String), String> {
        let until = Instant::now() + LIMIT;
        loop {
            let reason = match self.attempt(method.clone(), path, body).await {
                Ok((status, text)) if !TEMPORARY.contains(&status) => return Ok((status, text)),
                Ok((status, text)) => format!("{status}: {text}"),
                Err(error) => format!("{error:#}"),
            };
            if Instant::now() >= until {
                return Err(format!("{method} {path} did not succeed within {} s: {reason}", LIMIT.as_secs()));
            }
            note(reason);
            tokio::time::sleep(AGAIN_AFTER).await;
        }
    }

    async fn attempt(&self, method: Method, path: &str, body: Option<&Value>) -> anyhow::Result<(u16, String)> {
        let mut request = self.client.request(method, self.server.join(path)?);
        if let Some(body) = body {
            request = request.header("content-type", "application/json").body(body.to_string());
        }
        let response = request.send().await?;
        let status = response.status().as_u16();
        Ok((status, response.text().await.context("reading the answer")?))
    }
}

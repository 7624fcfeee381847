use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use reqwest::{Client, Method, Response, Url};
use serde_json::{Value, json};

/// The time from one attempt to connect to the next.
const INTERVAL: Duration = Duration::from_millis(200);

pub struct Request {
    pub method: Method,
    pub url: Url,
    pub body: Option<String>,
    pub expect: Option<u16>,
    pub timeout: Duration,
    pub token: Option<String>,
}

/// Sends a request; its reply as JSON: `status`, `headers` and `body`. While nobody takes the connection it is tried again: the cluster takes a
/// moment to lead a Service's name to a pod that has just become ready.
pub async fn send(request: Request) -> anyhow::Result<Value> {
    drop(rustls::crypto::ring::default_provider().install_default());
    // Within a cluster there is no proxy, and no TLS: the image has no root certificates.
    let client = Client::builder().no_proxy().tls_certs_only([]).timeout(request.timeout).build()?;
    let response = connect(&client, &request).await.with_context(|| format!("{} {}", request.method, request.url))?;
    let status = response.status().as_u16();
    let headers = response.headers().iter();
    let headers: serde_json::Map<String, Value> =
        headers.map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into())).collect();
    let body = response.text().await?;
    ensure!(request.expect.is_none_or(|expected| expected == status), "{} answered {status}: {body}", request.url);
    Ok(json!({"status": status, "headers": headers, "body": body}))
}

async fn connect(client: &Client, request: &Request) -> Result<Response, reqwest::Error> {
    let deadline = Instant::now() + request.timeout;
    loop {
        let mut attempt = client.request(request.method.clone(), request.url.clone());
        if let Some(body) = &request.body {
            attempt = attempt.header("content-type", "application/json").body(body.clone());
        }
        if let Some(token) = &request.token {
            attempt = attempt.bearer_auth(token);
        }
        match attempt.send().await {
            Err(error) if error.is_connect() && Instant::now() < deadline => tokio::time::sleep(INTERVAL).await,
            outcome => return outcome,
        }
    }
}

use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use reqwest::{Client, Method, Response, Url};
use serde_json::{Value, json};

/// The delay between attempts to connect.
const INTERVAL: Duration = Duration::from_millis(200);

pub struct Request {
    pub method: Method,
    pub url: Url,
    pub body: Option<String>,
    pub expect: Option<u16>,
    pub timeout: Duration,
    pub token: Option<String>,
}

/// Sends a request, and returns `status`, `headers` and `body` of the reply as JSON. Retries until it can connect,
/// because a Service takes a moment to forward to a pod that has just become ready.
pub async fn send(request: Request) -> anyhow::Result<Value> {
    drop(rustls::crypto::ring::default_provider().install_default());
    // No proxy and no TLS are needed within the cluster. The image has no root certificates.
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

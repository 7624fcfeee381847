//! A minimal HTTP client with one keep-alive connection, so that the cost of the client does not distort the
//! measurement.

use std::io::Write;
use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail, ensure};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::time::timeout;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Indexing 64 documents takes some seconds on a busy machine.
const REPLY_TIMEOUT: Duration = Duration::from_secs(120);
const MAX_REPLY_BYTES: usize = 64 << 20;

/// A connection to one address.
pub struct Connection {
    requests: SendRequest<Full<Bytes>>,
    address: SocketAddr,
    authorization: Option<HeaderValue>,
}

impl Connection {
    /// Connects.
    ///
    /// # Errors
    ///
    /// If the connection fails or times out.
    pub async fn open(address: SocketAddr) -> anyhow::Result<Self> {
        let stream = timeout(CONNECT_TIMEOUT, TcpStream::connect(address)).await?.context(address)?;
        stream.set_nodelay(true)?;
        let (requests, connection) = handshake(TokioIo::new(stream)).await?;
        // The task ends when `requests` is dropped. Its errors are returned by the affected request.
        drop(tokio::spawn(connection));
        Ok(Self { requests, address, authorization: None })
    }

    /// Sends this token with each request.
    ///
    /// # Errors
    ///
    /// If no header can hold it.
    pub fn with_token(self, token: &str) -> anyhow::Result<Self> {
        Ok(Self { authorization: Some(HeaderValue::try_from(format!("Bearer {token}"))?), ..self })
    }

    /// Gets a JSON value.
    ///
    /// # Errors
    ///
    /// Like [`Self::send`].
    pub async fn get(&mut self, path: &str) -> anyhow::Result<Value> {
        Ok(serde_json::from_slice(&self.send(Method::GET, path, Bytes::new()).await?)?)
    }

    /// Posts JSON and waits for the whole reply.
    ///
    /// # Errors
    ///
    /// Like [`Self::send`].
    pub async fn post(&mut self, path: &str, body: Bytes) -> anyhow::Result<Bytes> {
        self.send(Method::POST, path, body).await
    }

    /// Sends a request with a JSON body and waits for the whole reply.
    ///
    /// # Errors
    ///
    /// If the connection breaks, the reply times out, or its status is not 2xx; then the message has the reply.
    pub async fn send(&mut self, method: Method, path: &str, body: Bytes) -> anyhow::Result<Bytes> {
        let name = format!("{method} http://{}{path}", self.address);
        let (status, body) = self.reply(method, path, body).await?;
        ensure!(status.is_success(), "{name}: {status}: {}", String::from_utf8_lossy(&body));
        Ok(body)
    }

    /// Sends a request with a JSON body and waits for the whole reply with any status.
    ///
    /// # Errors
    ///
    /// If the connection breaks or the reply times out.
    pub async fn reply(&mut self, method: Method, path: &str, body: Bytes) -> anyhow::Result<(StatusCode, Bytes)> {
        let name = format!("{method} http://{}{path}", self.address);
        let request = self.request(method, path, body)?;
        let exchange = async { whole(self.exchange(request).await?).await };
        let reply = timeout(REPLY_TIMEOUT, exchange).await.context("timeout while waiting for the reply");
        reply.and_then(|reply| reply).with_context(|| name)
    }

    /// Downloads a large body and writes it piece by piece.
    ///
    /// # Errors
    ///
    /// Like [`Self::send`], and if writing fails.
    pub async fn download(&mut self, path: &str, output: &mut impl Write) -> anyhow::Result<()> {
        let name = format!("GET http://{}{path}", self.address);
        let request = self.request(Method::GET, path, Bytes::new())?;
        let exchange = async {
            let reply = self.exchange(request).await?;
            if !reply.status().is_success() {
                let (status, body) = whole(reply).await?;
                bail!("{status}: {}", String::from_utf8_lossy(&body));
            }
            let mut body = reply.into_body();
            while let Some(frame) = body.frame().await {
                output.write_all(frame?.data_ref().map_or(&[], |data| data))?;
            }
            Ok(())
        };
        let reply = timeout(REPLY_TIMEOUT, exchange).await.context("timeout while waiting for the reply");
        reply.and_then(|reply| reply).with_context(|| name)
    }

    /// Posts JSON and waits for the head of the reply, which must be an event stream.
    ///
    /// # Errors
    ///
    /// Like [`Self::send`], and if the reply is not an event stream.
    pub async fn open_stream(&mut self, path: &str, body: Bytes) -> anyhow::Result<Incoming> {
        let name = format!("POST http://{}{path}", self.address);
        let request = self.request(Method::POST, path, body)?;
        let reply = timeout(REPLY_TIMEOUT, self.exchange(request)).await.context("timeout while waiting for the reply");
        let reply = reply.and_then(|reply| reply).with_context(|| name.clone())?;
        let is_stream =
            reply.headers().get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
        if !(reply.status().is_success() && is_stream) {
            let (status, body) = whole(reply).await?;
            bail!("{name}: expected an event stream, got {status}: {}", String::from_utf8_lossy(&body));
        }
        Ok(reply.into_body())
    }

    fn request(&self, method: Method, path: &str, body: Bytes) -> anyhow::Result<Request<Full<Bytes>>> {
        let request = Request::builder().method(method).uri(path);
        let media_type = if path.starts_with("/restore") { "application/x-tar" } else { "application/json" };
        let request = request.header(HOST, self.address.to_string()).header(CONTENT_TYPE, media_type);
        let mut request = request.body(Full::new(body))?;
        if let Some(authorization) = &self.authorization {
            request.headers_mut().insert(AUTHORIZATION, authorization.clone());
        }
        Ok(request)
    }

    async fn exchange(&mut self, request: Request<Full<Bytes>>) -> anyhow::Result<Response<Incoming>> {
        self.requests.ready().await?;
        Ok(self.requests.send_request(request).await?)
    }
}

async fn whole(reply: Response<Incoming>) -> anyhow::Result<(StatusCode, Bytes)> {
    let status = reply.status();
    let body = Limited::new(reply.into_body(), MAX_REPLY_BYTES).collect().await;
    Ok((status, body.map_err(|error| anyhow!(error))?.to_bytes()))
}

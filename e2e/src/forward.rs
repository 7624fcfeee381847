//! HTTP to a pod through the API server, like `kubectl port-forward`. It works from outside the cluster, whatever its
//! network.

use std::convert::Infallible;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http_body_util::{BodyExt as _, Full, StreamBody, combinators::UnsyncBoxBody};
use hyper::body::Frame;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use serde_json::Value;
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::Error;

/// The time limit for a reply. It is long because tests share the processors that embed documents.
const REPLY_TIMEOUT: Duration = Duration::from_secs(120);

type RequestBody = UnsyncBoxBody<Bytes, Infallible>;

/// An HTTP reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// The method, the path and the target of the request.
    pub request: String,
    /// The HTTP status.
    pub status: u16,
    /// The body.
    pub text: String,
}

impl Reply {
    /// Parses the body as JSON.
    ///
    /// # Errors
    ///
    /// With the body, when it is not JSON.
    pub fn json(&self) -> Result<Value, Error> {
        serde_json::from_str(&self.text).map_err(|error| {
            Error::Unexpected(format!("{}: {}, and not JSON: {error}: {}", self.request, self.status, self.text))
        })
    }

    /// Parses the body as JSON, if the status is 200.
    ///
    /// # Errors
    ///
    /// With the body, when the status is not 200 or the body is not JSON.
    pub fn ok(&self) -> Result<Value, Error> {
        if self.status == 200 {
            self.json()
        } else {
            Err(Error::Unexpected(format!("{}: {}: {}", self.request, self.status, self.text)))
        }
    }
}

/// A connection to a pod's port. It sends one request at a time.
pub struct Connection {
    pod: String,
    sender: SendRequest<RequestBody>,
    token: Option<String>,
}

impl Connection {
    /// Connects to a port of a pod.
    ///
    /// # Errors
    ///
    /// When the API server cannot reach the pod.
    pub async fn open(pods: &Api<Pod>, pod: &str, port: u16) -> Result<Self, Error> {
        let failed = |reason: String| Error::Request { request: format!("connecting to {pod}"), reason };
        let forwarding = Error::kubernetes(format!("forwarding port {port} of {pod}"));
        let mut forwarder = pods.portforward(pod, &[port]).await.map_err(forwarding)?;
        let stream = forwarder.take_stream(port).ok_or_else(|| failed("the port was not forwarded".to_owned()))?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await.map_err(|error| failed(error.to_string()))?;
        // A request that is interrupted reports the error.
        tokio::spawn(connection);
        Ok(Self { pod: pod.to_owned(), sender, token: None })
    }

    /// Adds this bearer token to every request.
    #[must_use]
    pub fn with_token(self, token: &str) -> Self {
        Self { token: Some(token.to_owned()), ..self }
    }

    /// Sends a request and reads the reply.
    ///
    /// # Errors
    ///
    /// When no reply arrives within two minutes.
    pub async fn send(&mut self, method: Method, path: &str, body: Option<&Value>) -> Result<Reply, Error> {
        let bytes = body.map(|body| Bytes::from(body.to_string())).unwrap_or_default();
        self.send_body(method, path, Full::new(bytes).boxed_unsync()).await
    }

    /// Sends the head and the first half of a request. Sends the second half when the sender of `send_rest` is dropped.
    /// Until then the server processes the request.
    ///
    /// # Errors
    ///
    /// When no reply arrives within two minutes.
    pub async fn send_in_halves(
        &mut self,
        path: &str,
        body: &Value,
        send_rest: oneshot::Receiver<Infallible>,
    ) -> Result<Reply, Error> {
        let mut first = Bytes::from(body.to_string());
        let rest = first.split_off(first.len() / 2);
        let parts = stream::unfold(Halves::First(first, rest, send_rest), async |halves| match halves {
            Halves::First(first, rest, send_rest) => Some((first, Halves::Rest(rest, send_rest))),
            Halves::Rest(rest, send_rest) => {
                // The channel never carries a value. An error means that the sender was dropped.
                drop(send_rest.await);
                Some((rest, Halves::Sent))
            }
            Halves::Sent => None,
        });
        let frames = futures_util::StreamExt::map(parts, |part| Ok(Frame::data(part)));
        self.send_body(Method::POST, path, StreamBody::new(frames).boxed_unsync()).await
    }

    async fn send_body(&mut self, method: Method, path: &str, body: RequestBody) -> Result<Reply, Error> {
        let what = format!("{method} {path} to {}", self.pod);
        let failed = |reason: String| Error::Request { request: what.clone(), reason };
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", "ragengine")
            .header("content-type", "application/json");
        if let Some(token) = &self.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let request = request.body(body).map_err(|error| failed(error.to_string()))?;
        let exchange = async {
            let response = self.sender.send_request(request).await?;
            let status = response.status().as_u16();
            Ok::<_, hyper::Error>((status, response.into_body().collect().await?.to_bytes()))
        };
        let (status, bytes) = match timeout(REPLY_TIMEOUT, exchange).await {
            Ok(Ok(reply)) => reply,
            Ok(Err(error)) => return Err(failed(error.to_string())),
            Err(_) => return Err(failed(format!("no reply within {} s", REPLY_TIMEOUT.as_secs()))),
        };
        let text = String::from_utf8(bytes.into()).map_err(|error| failed(error.to_string()))?;
        Ok(Reply { request: what, status, text })
    }
}

/// The remaining parts of a body.
enum Halves {
    First(Bytes, Bytes, oneshot::Receiver<Infallible>),
    Rest(Bytes, oneshot::Receiver<Infallible>),
    Sent,
}

//! HTTP to a pod through the API server, as `kubectl port-forward` does it: from outside of the cluster, whatever its network.

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

/// How long a reply may take. Documents are embedded on processors that other tests use too.
const REPLY_TIMEOUT: Duration = Duration::from_secs(120);

type RequestBody = UnsyncBoxBody<Bytes, Infallible>;

/// A reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// The request's method and path, and where it went.
    pub request: String,
    /// Its status.
    pub status: u16,
    /// Its body.
    pub text: String,
}

impl Reply {
    /// Its body, which must be JSON.
    ///
    /// # Errors
    ///
    /// With the body, when it is not.
    pub fn json(&self) -> Result<Value, Error> {
        serde_json::from_str(&self.text).map_err(|error| {
            Error::Unexpected(format!("{}: {}, which is no JSON: {error}: {}", self.request, self.status, self.text))
        })
    }

    /// The JSON of a reply that must be a 200.
    ///
    /// # Errors
    ///
    /// With the body, when it is not.
    pub fn ok(&self) -> Result<Value, Error> {
        if self.status == 200 {
            self.json()
        } else {
            Err(Error::Unexpected(format!("{}: {}: {}", self.request, self.status, self.text)))
        }
    }
}

/// A connection to a pod's port. One request at a time.
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
        // Its end is seen by the request that it interrupts.
        tokio::spawn(connection);
        Ok(Self { pod: pod.to_owned(), sender, token: None })
    }

    /// From now on every request has this bearer token.
    #[must_use]
    pub fn with_token(self, token: &str) -> Self {
        Self { token: Some(token.to_owned()), ..self }
    }

    /// Sends a request and reads the reply.
    ///
    /// # Errors
    ///
    /// When none comes within two minutes.
    pub async fn send(&mut self, method: Method, path: &str, body: Option<&Value>) -> Result<Reply, Error> {
        let bytes = body.map(|body| Bytes::from(body.to_string())).unwrap_or_default();
        self.send_body(method, path, Full::new(bytes).boxed_unsync()).await
    }

    /// Sends the head and one half of a request, and the other half when the sender of `send_rest` is dropped: until then the server is at work
    /// on it.
    ///
    /// # Errors
    ///
    /// When no reply comes within two minutes.
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
                // Nothing is ever sent: an error is the sender's end.
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

/// What is left to send of a body.
enum Halves {
    First(Bytes, Bytes, oneshot::Receiver<Infallible>),
    Rest(Bytes, oneshot::Receiver<Infallible>),
    Sent,
}

//! A language model that has its answer ready.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::header::CONTENT_TYPE;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// An OpenAI-compatible endpoint in this process, which gives every request the same completion at once. It ends when it is dropped.
pub struct Upstream {
    address: SocketAddr,
    listening: JoinHandle<()>,
}

impl Upstream {
    /// Listens on a free port.
    ///
    /// # Errors
    ///
    /// When the system gives none.
    pub async fn start() -> anyhow::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        Ok(Self { address, listening: tokio::spawn(listen(listener)) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

async fn listen(listener: TcpListener) {
    let completion = completion();
    // The clients on this machine are bounded in number, and so are connections.
    while let Ok((stream, _)) = listener.accept().await {
        drop(stream.set_nodelay(true));
        let completion = completion.clone();
        let service = service_fn(move |request| answer(request, completion.clone()));
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}

async fn answer(request: Request<Incoming>, completion: Bytes) -> Result<Response<Full<Bytes>>, Infallible> {
    // Read to its end, so that the connection is kept; one that breaks off gets no reply anyway.
    drop(request.into_body().collect().await);
    let mut response = Response::new(Full::new(completion));
    response.headers_mut().insert(CONTENT_TYPE, hyper::header::HeaderValue::from_static("application/json"));
    Ok(response)
}

fn completion() -> Bytes {
    let message = json!({
        "role": "assistant",
        "content": "The intake filter is cleaned every second week, and before each inspection. [1]",
        "refusal": null,
    });
    let completion = json!({
        "id": "chatcmpl-7f3c1d",
        "object": "chat.completion",
        "created": 1_767_225_600,
        "model": "bench",
        "choices": [{"index": 0, "message": message, "logprobs": null, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 21, "completion_tokens": 17, "total_tokens": 38},
    });
    Bytes::from(completion.to_string())
}

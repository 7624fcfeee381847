//! A fake language model that answers immediately.

mod streaming;

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};

use bytes::Bytes;
use futures_util::stream::BoxStream;
use http_body_util::{BodyExt as _, Either, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::json;
pub use streaming::{Departure, EventPace, Streaming};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::clock;

type Answer = Either<Full<Bytes>, StreamBody<BoxStream<'static, Result<Frame<Bytes>, Infallible>>>>;

/// An OpenAI-compatible endpoint in this process. It answers every request with the same completion, or with the stream
/// that the request describes. Dropping it closes the endpoint.
pub struct Upstream {
    address: SocketAddr,
    released: watch::Sender<bool>,
    listening: JoinHandle<()>,
}

impl Upstream {
    /// Listens on a free port.
    ///
    /// # Errors
    ///
    /// If no port can be opened.
    pub async fn start() -> anyhow::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let (released, is_released) = watch::channel(false);
        Ok(Self { address, released, listening: tokio::spawn(listen(listener, is_released)) })
    }

    /// Address of the endpoint.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Continues held streams and disables holding.
    pub fn release(&self) {
        self.released.send_replace(true);
    }

    /// Holds new streams again.
    pub fn hold(&self) {
        self.released.send_replace(false);
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

async fn listen(listener: TcpListener, is_released: watch::Receiver<bool>) {
    let completion = completion();
    // No limit on connections: the number of clients in this benchmark is limited.
    while let Ok((stream, _)) = listener.accept().await {
        drop(stream.set_nodelay(true));
        let (completion, is_released) = (completion.clone(), is_released.clone());
        let service = service_fn(move |request| answer(request, completion.clone(), is_released.clone()));
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}

async fn answer(
    request: Request<Incoming>,
    completion: Bytes,
    is_released: watch::Receiver<bool>,
) -> Result<Response<Answer>, Infallible> {
    // The body is read to its end to keep the connection alive. A broken request gets no reply, so errors do not
    // matter.
    let body = request.into_body().collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    let (content_type, answer) = match Streaming::from_request(&body) {
        None => ("application/json", Either::Left(Full::new(completion))),
        Some(streaming) => {
            let frames = streaming.frames(clock::monotonic_ns(), is_released);
            ("text/event-stream", Either::Right(StreamBody::new(frames)))
        }
    };
    let mut response = Response::new(answer);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
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

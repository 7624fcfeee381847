use std::convert::Infallible;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// A chat request as the language model received it.
#[derive(Debug, Clone)]
pub struct Received {
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Received {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

type Script = dyn Fn(Value) -> Response + Send + Sync;
type List = dyn Fn(&HeaderMap) -> Response + Send + Sync;

/// A scripted language model that records the chats it receives.
#[derive(Clone)]
pub struct Upstream {
    pub url: String,
    received: Arc<Mutex<Vec<Received>>>,
    script: Arc<Script>,
    list: Arc<List>,
}

impl Upstream {
    /// A language model that answers each chat with the result of `script` for its body.
    pub async fn scripted(script: impl Fn(Value) -> Response + Send + Sync + 'static) -> Self {
        Self::with_models(json!({"data": [{"id": "served", "max_model_len": 8192}]}), script).await
    }

    /// Like [`Self::scripted`], with this reply to `/v1/models`.
    pub async fn with_models(models: Value, script: impl Fn(Value) -> Response + Send + Sync + 'static) -> Self {
        Self::listing(move |_| json_reply(200, &models), script).await
    }

    /// Like [`Self::scripted`]. `list` makes the reply to `/v1/models` from the headers of the request.
    pub async fn listing(
        list: impl Fn(&HeaderMap) -> Response + Send + Sync + 'static,
        script: impl Fn(Value) -> Response + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let upstream = Self { url, received: Arc::default(), script: Arc::new(script), list: Arc::new(list) };
        let router = Router::new()
            .route("/v1/chat/completions", post(answer))
            .route("/v1/models", get(listed))
            .with_state(upstream.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        upstream
    }

    /// A language model that answers every chat with "Hello."
    pub async fn friendly() -> Self {
        Self::scripted(|_| json_reply(200, &completion("Hello."))).await
    }

    /// Settings that use this language model.
    pub fn settings(&self) -> String {
        format!("{{inferenceService: {{url: '{}', timeoutSeconds: 2}}, retrieval: {{maxDistance: 1.1}}}}", self.url)
    }

    pub fn received(&self) -> Vec<Received> {
        self.received.lock().clone()
    }

    pub fn last(&self) -> Received {
        self.received().pop().expect("the language model was asked")
    }
}

async fn answer(State(upstream): State<Upstream>, headers: HeaderMap, body: Bytes) -> Response {
    upstream.received.lock().push(Received { headers, body: body.clone() });
    (upstream.script)(serde_json::from_slice(&body).unwrap_or_default())
}

async fn listed(State(upstream): State<Upstream>, headers: HeaderMap) -> Response {
    (upstream.list)(&headers)
}

pub fn json_reply(status: u16, body: &Value) -> Response {
    Response::builder()
        .status(status)
        .header("content-type", "application/json")
        .body(Body::from(body.to_string()))
        .unwrap()
}

pub fn text_reply(status: u16, body: &'static str) -> Response {
    Response::builder().status(status).body(Body::from(body)).unwrap()
}

/// A reply whose body never comes.
pub fn late_reply() -> Response {
    Response::builder().body(Body::from_stream(futures_util::stream::pending::<Result<Bytes, Infallible>>())).unwrap()
}

/// An event stream whose body consists of these pieces. An error breaks the connection.
pub fn event_reply(pieces: Vec<Result<String, std::io::Error>>) -> Response {
    let stream = futures_util::stream::iter(pieces);
    ([("content-type", "text/event-stream")], Body::from_stream(stream)).into_response()
}

pub fn completion(text: &str) -> Value {
    json!({
        "id": "c1", "object": "chat.completion", "created": 1, "model": "served", "system_fingerprint": "fp_1",
        "choices": [{
            "index": 0, "message": {"role": "assistant", "content": text}, "logprobs": {"content": []},
            "finish_reason": "length"
        }],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
    })
}

pub fn delta(text: &str) -> String {
    let chunk = json!({"id": "c1", "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": null}]});
    format!("data: {chunk}\n\n")
}

pub fn finish() -> String {
    let chunk = json!({"id": "c1", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
    format!("data: {chunk}\n\n")
}

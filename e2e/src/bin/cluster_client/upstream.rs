use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::http::header::AUTHORIZATION;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

/// The maximum size of a request, in bytes. No test sends more.
const MAX_BODY: usize = 1 << 20;

/// The default number of dimensions of a vector.
const WIDTH: usize = 64;

/// The name of the only model.
const MODEL: &str = "scripted";

/// The script of a test, and the recorded requests.
struct Upstream {
    key: Option<String>,
    answer: String,
    requests: Mutex<Vec<Value>>,
}

/// Serves a scripted language model and embedding model until SIGTERM. `GET /requests` returns the recorded requests.
pub async fn serve(port: u16, key: Option<String>, answer: String) -> anyhow::Result<()> {
    let upstream = Arc::new(Upstream { key, answer, requests: Mutex::default() });
    let router = Router::new().route("/requests", get(requests)).fallback(model).with_state(upstream);
    let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::UNSPECIFIED, port))).await?;
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        ended = axum::serve(listener, router) => ended?,
        _ = terminate.recv() => {}
    }
    Ok(())
}

async fn requests(State(upstream): State<Arc<Upstream>>) -> Json<Value> {
    Json(upstream.requests.lock().unwrap_or_else(PoisonError::into_inner).clone().into())
}

async fn model(State(upstream): State<Arc<Upstream>>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let header = head.headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    let bytes = axum::body::to_bytes(body, MAX_BODY).await.unwrap_or_default();
    let body: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let path = head.uri.path().to_owned();
    let asked = json!({"path": path, "authorization": header, "body": body});
    upstream.requests.lock().unwrap_or_else(PoisonError::into_inner).push(asked);
    let wanted = upstream.key.as_ref().map(|key| format!("Bearer {key}"));
    if wanted.is_some() && wanted.as_deref() != header {
        let error = json!({"error": {"message": "invalid API key", "type": "invalid_request_error"}});
        return (StatusCode::UNAUTHORIZED, Json(error)).into_response();
    }
    match path.as_str() {
        "/v1/models" => Json(json!({"object": "list", "data": [{"id": MODEL, "object": "model"}]})).into_response(),
        "/v1/chat/completions" => Json(completion(&upstream.answer)).into_response(),
        "/v1/embeddings" => Json(embeddings(&body)).into_response(),
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

fn completion(answer: &str) -> Value {
    json!({
        "id": "chatcmpl-scripted", "object": "chat.completion", "created": 0, "model": MODEL,
        "choices": [{"index": 0, "message": {"role": "assistant", "content": answer}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    })
}

fn embeddings(body: &Value) -> Value {
    let width = body["dimensions"].as_u64().and_then(|width| usize::try_from(width).ok()).unwrap_or(WIDTH);
    let one = std::slice::from_ref(&body["input"]);
    let texts = body["input"].as_array().map_or(one, Vec::as_slice).iter().filter_map(Value::as_str);
    let data: Vec<Value> = texts
        .enumerate()
        .map(|(index, text)| json!({"object": "embedding", "index": index, "embedding": vector(text, width)}))
        .collect();
    json!({"object": "list", "model": MODEL, "data": data, "usage": {"prompt_tokens": 1, "total_tokens": 1}})
}

/// Each word sets one direction of the vector, so that texts with common words are near to each other.
fn vector(text: &str, width: usize) -> Vec<f32> {
    let mut vector = vec![0.0_f32; width];
    for word in text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty()) {
        let mut hasher = DefaultHasher::new();
        word.to_lowercase().hash(&mut hasher);
        let place = usize::try_from(hasher.finish() % width as u64).unwrap_or_default();
        vector[place] += 1.0;
    }
    let length = vector.iter().map(|part| part * part).sum::<f32>().sqrt().max(f32::MIN_POSITIVE);
    vector.iter().map(|part| part / length).collect()
}

#[cfg(test)]
mod tests {
    use super::{embeddings, vector};

    #[test]
    fn texts_with_common_words_are_near_to_each_other() {
        let distance = |one: &str, other: &str| {
            let (one, other) = (vector(one, 256), vector(other, 256));
            one.iter().zip(&other).map(|(one, other)| (one - other).powi(2)).sum::<f32>()
        };
        assert!(
            distance("When is lunch?", "Lunch is at noon.") < distance("When is lunch?", "Bicycles behind a house")
        );
        assert!(distance("the same", "The same!") < 1e-6);
    }

    #[test]
    fn as_many_vectors_come_back_as_texts_were_sent_as_wide_as_asked_for() {
        let reply = embeddings(&serde_json::json!({"input": ["a", "b"], "dimensions": 32}));
        let data = reply["data"].as_array().unwrap();
        assert_eq!(data.iter().map(|one| one["embedding"].as_array().unwrap().len()).collect::<Vec<_>>(), [32, 32]);
        assert_eq!(embeddings(&serde_json::json!({"input": "a"}))["data"].as_array().unwrap().len(), 1);
    }
}

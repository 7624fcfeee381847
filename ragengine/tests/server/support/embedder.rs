use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::body::Body;
use axum::response::Response;
use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// A remote embedder. Its vectors count the words of a text, so texts with the same words are near each other.
pub struct RemoteEmbedder {
    pub url: String,
    embedded: Arc<AtomicUsize>,
}

impl RemoteEmbedder {
    /// An embedder whose vectors have this width.
    pub async fn with_width(width: usize) -> Self {
        Self::scripted(move |inputs| reply(&inputs, |text| words(text, width))).await
    }

    /// An embedder that answers with the result of `script` for the input texts.
    pub async fn scripted(script: impl Fn(Vec<String>) -> Response + Clone + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let embedded = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&embedded);
        let handler = move |Json(body): Json<Value>| {
            let inputs: Vec<String> =
                body["input"].as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect();
            counter.fetch_add(inputs.len(), Ordering::Relaxed);
            let response = script(inputs);
            async move { response }
        };
        let router = Router::new().route("/v1/embeddings", post(handler));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, embedded }
    }

    /// The number of texts it has received.
    pub fn embedded(&self) -> usize {
        self.embedded.load(Ordering::Relaxed)
    }

    /// Settings that use this embedder under the given model name, followed by `yaml`.
    pub fn settings(&self, model: &str, yaml: &str) -> String {
        format!(
            "embedding: {{remote: {{url: '{}', model: {model}}}}}\nretrieval: {{maxDistance: 1.5}}\n{yaml}",
            self.url
        )
    }
}

/// A reply in the shape of OpenAI's API.
pub fn reply(inputs: &[String], vector: impl Fn(&str) -> Vec<f32>) -> Response {
    let data: Vec<Value> = inputs
        .iter()
        .enumerate()
        .map(|(index, text)| json!({"object": "embedding", "index": index, "embedding": vector(text)}))
        .collect();
    let body = json!({"object": "list", "model": "m", "data": data, "usage": {"prompt_tokens": 1, "total_tokens": 1}});
    Response::builder().header("content-type", "application/json").body(Body::from(body.to_string())).unwrap()
}

/// A vector that counts each word at a position that depends on the word.
pub fn words(text: &str, width: usize) -> Vec<f32> {
    let mut vector = vec![0.0; width];
    for word in
        text.to_lowercase().split(|character: char| !character.is_alphanumeric()).filter(|word| !word.is_empty())
    {
        let place = word.bytes().fold(7_usize, |hash, byte| hash.wrapping_mul(31).wrapping_add(usize::from(byte)));
        vector[place % width] += 1.0;
    }
    vector[0] += 0.01;
    vector
}

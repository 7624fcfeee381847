//! Index resources on a cluster: sources of every kind, what goes wrong with them, and what happens to whoever is at work.

mod access;
mod admission;
mod bad_files;
mod deletion;
mod ends;
mod formats;
mod generations;
mod held_back;
mod many;
mod pdf;
mod refill;
mod sources;
mod together;
mod when;

use k8s_openapi::api::core::v1::Secret;
use ragengine_e2e::Error;
use ragengine_e2e::namespace::Namespace;
use serde_json::{Value, json};

/// Some texts, of which none is like another.
const TEXTS: [(&str, &str); 4] = [
    ("moon.md", "The moon orbits the earth in about 27 days."),
    ("sun.md", "The sun is a star."),
    ("mars.md", "Mars is red."),
    ("venus.md", "Venus is hot."),
];

/// An Index of one source of inline documents.
fn inline(engine: &str, source: &str, texts: &[(&str, &str)]) -> Value {
    let documents: Vec<Value> = texts.iter().map(|(path, text)| json!({"path": path, "text": text})).collect();
    json!({"engineRef": {"name": engine}, "sources": [{"name": source, "inline": {"documents": documents}}]})
}

/// An Index of one source.
fn of_source(engine: &str, source: &Value) -> Value {
    json!({"engineRef": {"name": engine}, "sources": [source]})
}

async fn secret(namespace: &Namespace, name: &str, data: &Value) -> Result<Secret, Error> {
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": data});
    namespace.apply(name, &secret).await
}

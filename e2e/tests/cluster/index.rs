//! Indexes on a cluster: sources of every kind, their errors, and interruptions of synchronisations.

mod access;
mod admission;
mod bad_files;
mod deletion;
mod formats;
mod generations;
mod held_back;
mod interruptions;
mod many;
mod pdf;
mod refill;
mod schedule;
mod shared_index;
mod sources;

use k8s_openapi::api::core::v1::Secret;
use ragengine_e2e::Error;
use ragengine_e2e::namespace::Namespace;
use serde_json::{Value, json};

/// Texts that differ from each other.
const TEXTS: [(&str, &str); 4] = [
    ("moon.md", "The moon orbits the earth in about 27 days."),
    ("sun.md", "The sun is a star."),
    ("mars.md", "Mars is red."),
    ("venus.md", "Venus is hot."),
];

/// The specification of an Index with one source of inline documents.
fn inline(engine: &str, source: &str, texts: &[(&str, &str)]) -> Value {
    let documents: Vec<Value> = texts.iter().map(|(path, text)| json!({"path": path, "text": text})).collect();
    json!({"engineRef": {"name": engine}, "sources": [{"name": source, "inline": {"documents": documents}}]})
}

/// The specification of an Index with one source.
fn of_source(engine: &str, source: &Value) -> Value {
    json!({"engineRef": {"name": engine}, "sources": [source]})
}

async fn secret(namespace: &Namespace, name: &str, data: &Value) -> Result<Secret, Error> {
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": data});
    namespace.apply(name, &secret).await
}

//! Documents for tests.

use fastrand::Rng;
use serde_json::{Map, Value, json};

/// The width of vectors.
pub const WIDTH: usize = 16;

/// A document.
#[derive(Debug, Clone, PartialEq)]
pub struct TestDocument {
    pub doc_id: String,
    pub text: String,
    pub metadata: Map<String, Value>,
    pub source: Option<String>,
    pub revision: Option<String>,
    pub chunks: Vec<TestChunk>,
}

/// A chunk of it.
#[derive(Debug, Clone, PartialEq)]
pub struct TestChunk {
    pub text: String,
    pub heading: Option<String>,
    pub page: Option<u32>,
    pub vector: Vec<f32>,
}

impl TestDocument {
    /// A document with a chunk for each line of its text.
    pub fn new(doc_id: &str, text: &str) -> Self {
        let chunk = |(ordinal, line): (u32, &str)| TestChunk {
            text: line.to_owned(),
            heading: None,
            page: None,
            vector: vector(seed(&format!("{doc_id}\n{line}\n{ordinal}"))),
        };
        let chunks = (0..).zip(text.lines()).map(chunk).collect();
        let (doc_id, text) = (doc_id.to_owned(), text.to_owned());
        Self { doc_id, text, metadata: Map::new(), source: None, revision: None, chunks }
    }

    pub fn with_metadata(mut self, metadata: &Value) -> Self {
        self.metadata = metadata.as_object().unwrap().clone();
        self
    }

    pub fn of_source(mut self, source: &str, revision: &str) -> Self {
        (self.source, self.revision) = (Some(source.to_owned()), Some(revision.to_owned()));
        self
    }

    /// The hash of what it is.
    pub fn content_hash(&self) -> String {
        ragengine_client::content_hash(&self.text, &self.metadata)
    }
}

/// So many documents with two chunks each.
pub fn some(count: usize) -> Vec<TestDocument> {
    let document = |number: usize| {
        TestDocument::new(&format!("document {number:03}"), &format!("first line of {number}\nsecond line of {number}"))
            .with_metadata(&json!({"number": number, "team": (["a", "b", "c"][number % 3])}))
    };
    (0..count).map(document).collect()
}

/// A vector of length 1.
pub fn vector(seed: u64) -> Vec<f32> {
    normalised(WIDTH, &mut Rng::with_seed(seed))
}

/// A random vector of length 1.
pub fn normalised(width: usize, random: &mut Rng) -> Vec<f32> {
    let values: Vec<f32> = (0..width).map(|_| random.f32() - 0.5).collect();
    let length = values.iter().map(|value| value * value).sum::<f32>().sqrt();
    values.iter().map(|value| value / length).collect()
}

fn seed(text: &str) -> u64 {
    text.bytes().fold(7, |seed: u64, byte| seed.wrapping_mul(31).wrapping_add(u64::from(byte)))
}

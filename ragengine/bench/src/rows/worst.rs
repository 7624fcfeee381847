use std::sync::LazyLock;

use bytes::Bytes;
use serde_json::{Value, json};

use super::{CHAT, INDEX};

/// Default of `limits.maxBodyBytes`.
const MAX_BODY_BYTES: usize = 32 << 20;

/// A JSON body of the maximum size that needs a multiple of its size in memory after parsing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeavyBody {
    /// A list of numbers in an unknown field of a chat that is passed through.
    Numbers,
    /// A list of small objects in an unknown field of a chat with retrieval.
    Objects,
    /// Nested lists in the metadata of a document.
    Metadata,
    /// Nested lists in the metadata filter of a retrieval.
    Filter,
}

impl HeavyBody {
    /// All bodies.
    pub const ALL: [Self; 4] = [Self::Numbers, Self::Objects, Self::Metadata, Self::Filter];

    /// Path and body. The bodies are built once and shared, because many clients send them.
    pub fn request(self) -> (&'static str, Bytes) {
        static BODIES: LazyLock<[Bytes; 4]> = LazyLock::new(|| {
            let question = r#""messages":[{"role":"user","content":"Why?"}]"#;
            let lists = "[[[[[[[[0]]]]]]]]";
            [
                filled(&format!(r#"{{"model":"bench",{question},"x":["#), "0", "]}"),
                filled(&format!(r#"{{"model":"bench","index_name":"{INDEX}",{question},"x":["#), r#"{"":0}"#, "]}"),
                filled(
                    &format!(r#"{{"index_name":"{INDEX}","documents":[{{"text":"Why?","metadata":{{"x":["#),
                    lists,
                    "]}}]}",
                ),
                filled(&format!(r#"{{"index_name":"{INDEX}","query":"Why?","metadata_filter":{{"x":["#), lists, "]}}"),
            ]
        });
        let path = match self {
            Self::Numbers | Self::Objects => CHAT,
            Self::Metadata => "/index",
            Self::Filter => "/retrieve",
        };
        (path, BODIES[self as usize].clone())
    }
}

/// A body of the maximum size: `head`, as many items as fit, `tail`.
fn filled(head: &str, item: &str, tail: &str) -> Bytes {
    let room = MAX_BODY_BYTES - head.len() - item.len() - tail.len();
    let mut body = String::with_capacity(MAX_BODY_BYTES);
    body.extend([head, item]);
    for _ in 0..room / (item.len() + 1) {
        body.extend([",", item]);
    }
    body.push_str(tail);
    body.into()
}

/// A word of the maximum length that tokenizers split into pieces, made of short pieces.
const LONG_WORD: &str =
    "qzxjvkwqzxjvkwqzxjvkwqzxjvkwqzxjvkwqzxjvkwqzxjvkwqzxjvkwqzxjvkwqzxjvkwqzxjvkwqzxjvkwqzxjvkwqzxjvkw ";

/// Text size of a read request that is just within the size limit.
const READ_BYTES: usize = 1900 << 10;

/// Text size of a document that is just within the size limit.
const DOCUMENT_BYTES: usize = 1900 << 10;

/// Size of a conversation that is not rejected for its size alone before tokens are counted.
const CONVERSATION_BYTES: usize = 500 << 10;

const EMBEDDED_TEXTS: usize = 2000;

/// The most expensive requests of each route, as path and body.
pub fn computations() -> Vec<(&'static str, Bytes)> {
    let long_words = |bytes: usize| LONG_WORD.repeat(bytes / LONG_WORD.len());
    let embeddings =
        json!({"model": "default", "input": vec![long_words(READ_BYTES / EMBEDDED_TEXTS); EMBEDDED_TEXTS]});
    let chat = |stream: bool| {
        let message = json!({"role": "user", "content": long_words(CONVERSATION_BYTES)});
        json!({"model": "bench", "index_name": INDEX, "messages": [message], "stream": stream})
    };
    let titled = format!("# {}\n\n", "title ".repeat(3000)) + &"## a\n\nb\n\n".repeat(5000);
    let nested = format!("fn f() {}{}", "{".repeat(4500), "}".repeat(4500));
    let requests = [
        ("/v1/embeddings", embeddings.clone()),
        ("/v1/embeddings", embeddings),
        (CHAT, chat(false)),
        (CHAT, chat(true)),
        ("/retrieve", json!({"index_name": INDEX, "query": long_words(READ_BYTES)})),
        ("/index", documents(&long_words(DOCUMENT_BYTES), json!({}))),
        ("/index", documents(&"# \n".repeat(DOCUMENT_BYTES / 3), json!({"split_type": "markdown"}))),
        ("/index", documents(&titled, json!({"split_type": "markdown"}))),
        ("/index", documents(&nested, json!({"split_type": "code", "language": "rust"}))),
    ];
    let bodies = requests.map(|(path, body)| (path, Bytes::from(body.to_string())));
    bodies.into_iter().chain(HeavyBody::ALL.map(HeavyBody::request)).collect()
}

/// A write request with four copies of a document.
fn documents(text: &str, metadata: Value) -> Value {
    let document = |number: usize| json!({"doc_id": format!("worst-{number}"), "text": text, "metadata": metadata});
    json!({"index_name": INDEX, "documents": (0..4).map(document).collect::<Vec<_>>()})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heavy_bodies_are_json_of_the_maximum_size() {
        for heavy in HeavyBody::ALL {
            let (path, body) = heavy.request();
            assert!(body.len() <= MAX_BODY_BYTES && body.len() > MAX_BODY_BYTES - 64, "{path}: {}", body.len());
            assert!(serde_json::from_slice::<serde::de::IgnoredAny>(&body).is_ok(), "{path}");
        }
    }

    #[test]
    fn no_request_is_rejected_for_its_size_alone() {
        for (path, body) in computations() {
            assert!(body.len() <= MAX_BODY_BYTES, "{path}: {}", body.len());
            let is_read = matches!(path, "/retrieve" | "/v1/embeddings");
            assert!(!is_read || body.len() < 2 << 20 || body.len() > 31 << 20, "{path}: {}", body.len());
        }
    }
}

//! The cost of request bodies: memory in proportion to their size for any JSON, and no computation on serving threads.

mod serving_threads;

use serde_json::json;

use crate::support::process::Process;

const MIB: usize = 1 << 20;

/// The default of `limits.maxBodyBytes`.
const BODY_BYTES: usize = 32 * MIB;
/// The default of `limits.maxReadBodyBytes`.
const READ_BODY_BYTES: usize = 2 * MIB;

/// A body of about `bytes` bytes: as many comma-separated items between the head and the tail as fit.
pub fn filled(bytes: usize, head: &str, item: &str, tail: &str) -> String {
    let count = (bytes - head.len() - item.len() - tail.len()) / (item.len() + 1);
    let mut body = String::with_capacity(bytes);
    body.push_str(head);
    for _ in 0..count {
        body.push_str(item);
        body.push(',');
    }
    body.push_str(item);
    body.push_str(tail);
    body
}

/// The path and body of requests whose JSON needs many times its size once it is parsed into values. They cover every
/// route that accepts a body.
fn worst() -> Vec<(&'static str, String)> {
    let write = |head: &str, item: &str, tail: &str| filled(BODY_BYTES, head, item, tail);
    let read = |head: &str, item: &str, tail: &str| filled(READ_BODY_BYTES, head, item, tail);
    let chat = "/v1/chat/completions";
    let question = r#""messages":[{"role":"user","content":"Why?"}]"#;
    let deletes = "\u{7f}".repeat(1000);
    let parts = r#"{"messages":[{"role":"user","content":["#;
    vec![
        (chat, write(&format!(r#"{{"model":"m",{question},"x":["#), "0", "]}")),
        (chat, write(&format!(r#"{{"index_name":"docs",{question},"x":["#), r#"{"":0}"#, "]}")),
        (chat, write(r#"{"index_name":"docs","messages":[{"role":"user","content":"a","x":["#, r#"{"":0}"#, "]}]}")),
        (
            chat,
            write(&format!(r#"{{"index_name":"docs",{question}"#), r#""":0"#, "}").replacen(r#"]"":0"#, r#"],"":0"#, 1),
        ),
        (chat, write(r#"{"index_name":"docs","messages":["#, r#"{"role":"user"}"#, "]}")),
        (chat, write(parts, r#"{"type":"text","text":""}"#, "]}]}")),
        (chat, write(r#"{"models":["#, r#""""#, &format!("],{question}}}"))),
        ("/index", write(r#"{"index_name":"docs","documents":[{"text":"a","metadata":{"x":["#, "0", "]}}]}")),
        ("/index", write(r#"{"index_name":"docs","documents":["#, r#"{"text":"a","metadata":{"":[{},{}]}}"#, "]}")),
        ("/index", write(r#"{"index_name":"docs","documents":["#, r#"{"text":""}"#, "]}")),
        ("/index", write(r#"{"index_name":"docs","documents":[],"x":["#, "[]", "]}")),
        ("/indexes/docs/documents", write(r#"{"documents":["#, r#"{"text":"","metadata":{"":{}}}"#, "]}")),
        // An error message that quoted these characters would escape each as six.
        ("/index", write(r#"{"index_name":"docs","documents":""#, &deletes, r#""}"#)),
        ("/index", write(r#"{"index_name":"docs","documents":[],""#, &deletes, r#"":}"#)),
        (chat, write(&format!(r#"{{"index_name":"docs",{question},"model":""#), "a", r#""}"#)),
        (chat, write(&format!(r#"{{"index_name":"docs",{question},"explain":""#), &deletes, r#""}"#)),
        ("/indexes/docs/documents/delete", write(r#"{"doc_ids":["#, r#""""#, "]}")),
        ("/retrieve", read(r#"{"index_name":"docs","query":"Why?","metadata_filter":{"x":["#, "0", "]}}")),
        ("/retrieve", read(r#"{"index_name":"docs","query":"Why?","metadata_filter":{"x":["#, "{}", "]}}")),
        ("/v1/embeddings", read(r#"{"input":["#, r#""""#, "]}")),
        ("/v1/embeddings", read(r#"{"input":"a","x":["#, "[]", "]}")),
    ]
}

#[test]
fn the_worst_json_uses_memory_in_proportion_to_its_size() {
    let data = tempfile::tempdir().unwrap();
    let server = Process::start(data.path());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let http = reqwest::Client::new();
    let post = |path: &str, body: String| {
        let request = http.post(format!("{}{path}", server.url)).header("content-type", "application/json").body(body);
        runtime.block_on(async { request.send().await.unwrap().status().as_u16() })
    };
    let document =
        json!({"index_name": "docs", "documents": [{"text": "Cats sleep for most of the day."}]}).to_string();
    assert_eq!(post("/index", document), 200);
    for (number, (path, body)) in worst().into_iter().enumerate() {
        let (bytes, before) = (body.len(), server.reset_peak_memory());
        let status = post(path, body);
        let growth = server.peak_memory_bytes().saturating_sub(before);
        let bound = (bytes * 5 / 2 + 16 * MIB) as u64;
        assert!(growth <= bound, "{number}: {path} answered {status} and used {growth} bytes, more than {bound}");
        assert!(matches!(status, 200 | 400 | 422 | 503), "{number}: {path} answered {status}");
    }
}

#[test]
fn a_read_has_its_own_body_limit() {
    let data = tempfile::tempdir().unwrap();
    let server = Process::start(data.path());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let request = reqwest::Client::new()
        .post(format!("{}/retrieve", server.url))
        .header("content-type", "application/json")
        .body(filled(READ_BODY_BYTES + 1024, r#"{"index_name":"docs","query":""#, "a", r#""}"#));
    let (status, text) = runtime.block_on(async {
        let response = request.send().await.unwrap();
        (response.status().as_u16(), response.text().await.unwrap())
    });
    assert_eq!(status, 413, "{text}");
    assert!(text.contains("limits.maxReadBodyBytes"), "{text}");
}

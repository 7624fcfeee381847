use serde_json::{Value, json};

/// A text that no log line may contain.
pub const MARKER: &str = "quincewyvern";

/// A valid and an invalid name of an index.
const NAMES: [&str; 2] = [MARKER, "quincewyvern%20and%20more"];

/// Method, path and body of requests with the marker in each field of each route, valid and invalid.
pub fn requests() -> Vec<(&'static str, String, String)> {
    let mut all = vec![
        ("GET", format!("/{MARKER}"), String::new()),
        ("PATCH", format!("/indexes/{MARKER}"), String::new()),
        ("POST", format!("/index?{MARKER}={MARKER}"), MARKER.to_owned()),
    ];
    all.extend(fields("/v1/chat/completions", &chat()));
    all.extend(fields("/v1/embeddings", &json!({"model": "default", "input": ["text"], "encoding_format": "float"})));
    all.extend(fields("/retrieve", &json!({"index_name": "docs", "query": "q", "metadata_filter": {"team": "a"}})));
    all.extend(fields("/context/assess", &json!({"context": "Q: c\nA: c", "query": "q"})));
    all.extend(fields("/feedback", &json!({"answer_id": "a", "rating": "up", "comment": "c"})));
    all.extend(fields("/query", &query()));
    all.extend(fields("/chat", &asked()));
    all.extend(fields("/search", &json!({"index_name": "docs", "query": "q", "top_k": 3})));
    all.extend(fields("/cache/purge", &json!({"index_name": "docs"})));
    all.extend(fields("/chat/clear", &json!({"session_id": "session-1"})));
    all.extend(fields("/index", &json!({"index_name": "docs", "documents": [document()]})));
    all.extend(fields("/indexes/docs/documents", &json!({"documents": [document()]})));
    all.extend(fields("/indexes/docs/documents/delete", &json!({"doc_ids": ["d"]})));
    all.extend(puts("/indexes/docs", &json!({"chunking": {"maxTokens": 100}, "vectorIndex": "Flat"})));
    all.extend(puts("/indexes/docs/sources/s", &sync()));
    for name in NAMES {
        for path in [
            format!("/v1/models/{name}"),
            format!("/indexes/{name}"),
            format!("/indexes/{name}/documents"),
            format!("/indexes/docs/documents?metadata_filter={name}"),
            format!("/indexes/docs/documents?limit={name}"),
            format!("/indexes/{name}/sources"),
            format!("/indexes/docs/sources/{name}"),
            format!("/indexes/{name}/sources/{name}"),
            format!("/indexes/docs/sources/{name}/documents"),
            format!("/feedback?index_name={name}"),
            format!("/chat/history/{name}"),
            format!("/indexes/{name}/documents/{name}"),
            format!("/indexes/docs/documents/{name}"),
            format!("/page/{name}"),
            format!("/feedback?limit={name}"),
        ] {
            all.push(("GET", path, String::new()));
        }
        for path in ["/v1/models", "/indexes", "/livez", "/readyz", "/health", "/status", "/metrics", "/backup"] {
            all.push(("GET", format!("{path}?{name}"), String::new()));
        }
        for path in [
            format!("/persist/{name}"),
            format!("/persist/{name}?path={name}"),
            format!("/load/{name}"),
            format!("/load/docs?path={name}&overwrite=true"),
            format!("/load/docs?overwrite={name}"),
            format!("/restore?index={name}"),
            format!("/indexes/{name}/documents"),
            format!("/indexes/{name}/documents/delete"),
        ] {
            all.push(("POST", path, format!("{{\"{MARKER}\": \"{MARKER}\"}}")));
        }
        for path in [
            format!("/indexes/{name}/generation"),
            format!("/indexes/{name}/sources/{name}"),
            format!("/indexes/docs/sources/{name}"),
        ] {
            all.push(("DELETE", path.clone(), String::new()));
            all.push(("PUT", path, format!("{{\"{MARKER}\": 1}}")));
        }
        all.push(("DELETE", format!("/indexes/{name}"), String::new()));
        all.push(("DELETE", format!("/feedback/{name}"), String::new()));
        all.push(("DELETE", format!("/interactions?{name}"), String::new()));
    }
    all.push(("PUT", "/indexes/quincewyvern%20and%20more".to_owned(), "{}".to_owned()));
    all.push(("POST", "/persist/docs?path=quincewyvern%20and%20more".to_owned(), String::new()));
    all
}

fn query() -> Value {
    json!({
        "query": "When is the annual tax return due?", "session_id": "session-1", "index_name": "docs", "stream": false,
        "explain": true, "metadata_filter": {"team": "a"},
        "pipeline": {"condense": "always", "provider": "p", "task_category": "c"}
    })
}

fn asked() -> Value {
    json!({
        "query": "When is the annual tax return due?", "session_id": "session-1", "index_name": "docs", "stream": false,
        "explain": true, "top_k": 3, "metadata_filter": {"team": "a"}, "pipeline": {"condense": "always"}
    })
}

fn chat() -> Value {
    json!({
        "model": "served", "index_name": "docs", "user": "u", "stream": false, "explain": true, "n": 1,
        "max_tokens": 100_000, "context_token_ratio": 0.5, "metadata": {"a": "b"},
        "pipeline": {"feedback": true, "provider": "p", "task_category": "c"},
        "messages": [{"role": "user", "content": "When is the annual tax return due?", "name": "ann"}]
    })
}

fn document() -> Value {
    json!({
        "doc_id": "d", "text": "Words about nothing.", "source": "t", "revision": "r",
        "metadata": {"team": "a", "split_type": "markdown", "language": "rust"}
    })
}

fn sync() -> Value {
    json!({
        "sync_id": "one", "phase": "complete", "revision": "r", "message": "m", "done": 1, "total": 1, "held_back": 0,
        "error_count": 1, "errors": [{"path": "p", "message": "m"}]
    })
}

fn fields(path: &str, body: &Value) -> Vec<(&'static str, String, String)> {
    each("POST", path, body)
}

fn puts(path: &str, body: &Value) -> Vec<(&'static str, String, String)> {
    each("PUT", path, body)
}

/// Requests with the unchanged body, a truncated body and a list; with each value replaced by the marker as a string, a
/// list and an object; and with the marker as an unknown field.
fn each(method: &'static str, path: &str, body: &Value) -> Vec<(&'static str, String, String)> {
    let mut bodies = vec![body.to_string(), format!("{{\"{MARKER}\": \"{MARKER}\", "), format!("[\"{MARKER}\"]")];
    for place in places(body, String::new()) {
        let marker = format!("{MARKER} and more");
        for value in [json!(marker), json!([marker]), json!({MARKER: marker})] {
            let mut changed = body.clone();
            *changed.pointer_mut(&place).unwrap() = value;
            bodies.push(changed.to_string());
        }
    }
    let mut more = body.clone();
    more[MARKER] = json!(MARKER);
    bodies.push(more.to_string());
    bodies.into_iter().map(|body| (method, path.to_owned(), body)).collect()
}

/// JSON pointers to all values of a body.
fn places(value: &Value, place: String) -> Vec<String> {
    let below: Vec<(String, &Value)> = match value {
        Value::Object(fields) => fields.iter().map(|(name, value)| (format!("{place}/{name}"), value)).collect(),
        Value::Array(items) => {
            items.iter().enumerate().map(|(position, item)| (format!("{place}/{position}"), item)).collect()
        }
        _ => Vec::new(),
    };
    let itself = (!place.is_empty()).then_some(place);
    itself.into_iter().chain(below.into_iter().flat_map(|(place, value)| places(value, place))).collect()
}

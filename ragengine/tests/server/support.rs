//! Servers and requests for tests.

// With their paths, because the tests of the page include this file too.
#[path = "support/embedder.rs"]
pub mod embedder;
#[path = "support/process.rs"]
pub mod process;
#[path = "support/upstream.rs"]
pub mod upstream;
#[path = "support/volume.rs"]
pub mod volume;

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use ragengine::app::{App, StageTimeouts, start};
use ragengine::{router, server};
use ragengine_settings::{Settings, from_yaml};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;

/// The folder of the embedding model, which `make setup` downloads.
pub fn model_directory() -> PathBuf {
    let cache = std::env::var_os("RAGENGINE_CACHE")
        .map(PathBuf::from)
        .unwrap_or_else(|| PathBuf::from(std::env::var_os("HOME").expect("HOME is set")).join(".cache/ragengine"));
    let directory = cache.join("models/sentence-transformers/all-MiniLM-L6-v2");
    assert!(
        directory.join("onnx/model.onnx").is_file(),
        "no embedding model in {}: run `make setup`",
        directory.display()
    );
    directory
}

/// The settings in `yaml`, with this data folder, and with the real embedding model unless `yaml` sets a remote one.
pub fn settings(data: &TempDir, yaml: &str) -> Settings {
    let mut settings = from_yaml(yaml).unwrap();
    settings.data_dir = data.path().to_owned();
    if settings.embedding.remote.is_none() {
        settings.embedding.local.get_or_insert_default().model_id = model_directory().display().to_string();
    }
    settings
}

/// A server in this process, and a client for it.
pub struct Server {
    pub url: String,
    pub app: Arc<App>,
    http: reqwest::Client,
    _data: Option<Arc<TempDir>>,
}

/// The status, headers and body of a reply.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: reqwest::header::HeaderMap,
    pub text: String,
}

impl Reply {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    /// The JSON of the reply. Panics unless the status is 200.
    pub fn ok(&self) -> Value {
        assert_eq!(self.status, 200, "{}", self.text);
        self.json()
    }

    /// The message of the error, in the shape of OpenAI's API or of the other routes. Panics if the status differs.
    pub fn error(&self, status: u16) -> String {
        assert_eq!(self.status, status, "{}", self.text);
        let body = self.json();
        match (&body["error"]["message"], &body["detail"]) {
            (Value::String(message), _) | (_, Value::String(message)) => message.clone(),
            (_, detail) if !detail.is_null() => detail.to_string(),
            _ => panic!("no error in {body}"),
        }
    }
}

impl Server {
    /// A loaded server with its own data folder.
    pub async fn start(yaml: &str) -> Self {
        let data = Arc::new(tempfile::tempdir().unwrap());
        let mut server = Self::start_in(settings(&data, yaml)).await;
        server._data = Some(data);
        server
    }

    /// A loaded server with these settings.
    pub async fn start_in(settings: Settings) -> Self {
        let server = Self::start_unloaded(settings).await;
        start(&server.app).await.unwrap();
        server
    }

    /// A loaded server with its own data folder, whose stages may take so long.
    pub async fn start_with_timeouts(yaml: &str, timeouts: StageTimeouts) -> Self {
        let data = Arc::new(tempfile::tempdir().unwrap());
        drop(rustls::crypto::ring::default_provider().install_default());
        let mut app = App::new(settings(&data, yaml)).unwrap();
        Arc::get_mut(&mut app).unwrap().stage_timeouts = timeouts;
        let mut server = Self::serving(app).await;
        server._data = Some(data);
        start(&server.app).await.unwrap();
        server
    }

    /// A server that listens but has loaded nothing.
    pub async fn start_unloaded(settings: Settings) -> Self {
        drop(rustls::crypto::ring::default_provider().install_default());
        Self::serving(App::new(settings).unwrap()).await
    }

    async fn serving(app: Arc<App>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let service = router::router(Arc::clone(&app));
        let bounds = server::Bounds::of(&app.settings.limits);
        tokio::spawn(server::serve(listener, service, std::future::pending(), bounds, Arc::clone(&app.metrics)));
        Self { url, app, http: reqwest::Client::new(), _data: None }
    }

    /// The server with the built-in model that all tests share if they differ only in their indexes.
    pub fn shared() -> Self {
        static SHARED: OnceLock<(String, Arc<App>)> = OnceLock::new();
        let (url, app) = SHARED.get_or_init(|| {
            let (send, receive) = std::sync::mpsc::channel();
            std::thread::spawn(move || {
                let runtime =
                    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
                runtime.block_on(async {
                    let server = Self::start(
                        "{retrieval: {maxDistance: 1.1}, \
                         limits: {maxBodyBytes: 200000, maxDocuments: 500, maxDocumentBytes: 100000}}",
                    )
                    .await;
                    send.send((server.url.clone(), Arc::clone(&server.app))).unwrap();
                    std::future::pending::<()>().await;
                });
            });
            receive.recv().unwrap()
        });
        Self { url: url.clone(), app: Arc::clone(app), http: reqwest::Client::new(), _data: None }
    }

    pub async fn get(&self, path: &str) -> Reply {
        Self::reply(self.http.get(format!("{}{path}", self.url))).await
    }

    /// A GET with query parameters.
    pub async fn get_with(&self, path: &str, query: &[(&str, String)]) -> Reply {
        let url = reqwest::Url::parse_with_params(&format!("{}{path}", self.url), query).unwrap();
        Self::reply(self.http.get(url)).await
    }

    pub async fn delete(&self, path: &str) -> Reply {
        Self::reply(self.http.delete(format!("{}{path}", self.url))).await
    }

    pub async fn put(&self, path: &str, body: &Value) -> Reply {
        Self::reply(self.http.put(format!("{}{path}", self.url)).json(body)).await
    }

    /// Waits until no work goes on after replies, such as keeping answers for equal questions.
    pub async fn until_background_ended(&self) {
        let loaded = self.app.loaded().unwrap();
        assert!(loaded.stores.background().has_ended(Duration::from_secs(30)).await, "stores are still written");
    }

    pub async fn post(&self, path: &str, body: &Value) -> Reply {
        self.post_bytes(path, body.to_string()).await
    }

    pub async fn post_bytes(&self, path: &str, body: impl Into<reqwest::Body>) -> Reply {
        Self::reply(self.request(path).body(body)).await
    }

    /// A POST request without a body, with the media type that the path accepts.
    pub fn request(&self, path: &str) -> reqwest::RequestBuilder {
        self.http.post(format!("{}{path}", self.url)).header("content-type", media_type(path))
    }

    pub async fn reply(request: reqwest::RequestBuilder) -> Reply {
        let response = request.timeout(Duration::from_secs(60)).send().await.unwrap();
        Reply {
            status: response.status().as_u16(),
            headers: response.headers().clone(),
            text: response.text().await.unwrap(),
        }
    }

    /// Adds documents given as pairs of id and text.
    pub async fn add(&self, index: &str, documents: &[(&str, &str)]) -> Value {
        let documents: Vec<Value> =
            documents.iter().map(|(doc_id, text)| json!({"doc_id": doc_id, "text": text})).collect();
        self.post("/index", &json!({"index_name": index, "documents": documents})).await.ok()
    }

    /// The ids of the documents that a question finds, the best match first.
    pub async fn found(&self, index: &str, query: &str, max_node_count: usize) -> Vec<String> {
        let body = json!({"index_name": index, "query": query, "max_node_count": max_node_count});
        let reply = self.post("/retrieve", &body).await.ok();
        reply["results"].as_array().unwrap().iter().map(|node| node["doc_id"].as_str().unwrap().to_owned()).collect()
    }
}

/// The media type that a path accepts.
pub fn media_type(path: &str) -> &'static str {
    if path.starts_with("/restore") { "application/x-tar" } else { "application/json" }
}

/// Copies a data folder. A server in this process keeps its folder open until its runtime ends, so a second server
/// starts on a copy.
pub fn copy_folder(from: &std::path::Path, to: &std::path::Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// The body of a chat with one question about an index.
pub fn ask(index: &str, question: &str) -> Value {
    json!({"model": "m", "index_name": index, "messages": [{"role": "user", "content": question}]})
}

/// The outcome of a stage in the explanation of a chat. Empty if it was off.
pub fn outcome(reply: &Value, stage: &str) -> String {
    stage_of(reply, stage)["outcome"].as_str().unwrap_or_default().to_owned()
}

/// What a stage did, in the explanation of a chat. Null if it was off.
pub fn stage_of(reply: &Value, stage: &str) -> Value {
    let stages = reply["explanation"]["stages"].as_array().cloned().unwrap_or_default();
    stages.into_iter().find(|done| done["stage"] == stage).unwrap_or_default()
}

/// The JSON of every event of a stream except `[DONE]`, and whether `[DONE]` came last.
pub fn events(text: &str) -> (Vec<Value>, bool) {
    let data: Vec<&str> =
        text.split("\n\n").filter_map(|event| event.trim().strip_prefix("data:")).map(str::trim).collect();
    let is_done = data.last() == Some(&"[DONE]");
    let chunks =
        data.iter().filter(|data| **data != "[DONE]").map(|data| serde_json::from_str(data).unwrap()).collect();
    (chunks, is_done)
}

/// Ids and texts of five documents about different subjects.
pub const FACTS: [(&str, &str); 5] = [
    ("cats", "Cats sleep for most of the day. A cat purrs when it is content."),
    ("ships", "The container ship left the harbour at noon. It carries steel to Rotterdam."),
    ("bread", "Sourdough bread needs a starter of flour and water. Bake it at 230 degrees for forty minutes."),
    ("tax", "The annual tax return is due on the last day of May. Late returns cost a fee of 25 euros."),
    ("moon", "The moon orbits the earth in about 27 days. It has no atmosphere to speak of."),
];

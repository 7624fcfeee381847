use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::process::Process;

pub fn run<T>(future: impl Future<Output = T>) -> T {
    drop(rustls::crypto::ring::default_provider().install_default());
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

pub fn replied(request: impl FnOnce(reqwest::Client) -> reqwest::RequestBuilder) -> (u16, Value) {
    run(async {
        let response = request(reqwest::Client::new()).send().await.unwrap();
        (response.status().as_u16(), response.json().await.unwrap_or_default())
    })
}

pub fn get(server: &Process, path: &str) -> (u16, Value) {
    replied(|http| http.get(format!("{}{path}", server.url)))
}

pub fn post(server: &Process, path: &str, body: &Value) -> (u16, Value) {
    replied(|http| http.post(format!("{}{path}", server.url)).json(body))
}

pub fn add(server: &Process, index: &str, doc_id: &str) -> (u16, Value) {
    let document = json!({"doc_id": doc_id, "text": format!("The document {doc_id}.")});
    post(server, "/index", &json!({"index_name": index, "documents": [document]}))
}

pub fn retrieve(server: &Process, index: &str) -> (u16, Value) {
    post(server, "/retrieve", &json!({"index_name": index, "query": "document"}))
}

/// Sends a backup.
pub fn send(server: &Process, path: &str, body: Vec<u8>) -> (u16, Value) {
    replied(|http| http.post(format!("{}{path}", server.url)).header("content-type", "application/x-tar").body(body))
}

/// The number of entries of a folder, 0 if it does not exist.
pub fn entries(folder: &Path) -> usize {
    fs::read_dir(folder).map_or(0, Iterator::count)
}

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::Mutex;

use super::Load;

/// A server whose every third answer says that it cannot serve now.
#[derive(Default)]
struct Server {
    requests: usize,
    documents: BTreeMap<String, String>,
    /// Whether searches find what was deleted.
    keeps_deleted: bool,
    deleted: Vec<String>,
}

async fn answer(State(server): State<Arc<Mutex<Server>>>, request: Request) -> Response {
    let path = request.uri().path().to_owned();
    let bytes = axum::body::to_bytes(request.into_body(), 1 << 20).await.unwrap();
    let body: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let mut server = server.lock().await;
    server.requests += 1;
    if server.requests.is_multiple_of(3) {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    }
    if path == "/index" {
        let document = &body["documents"][0];
        server.documents.insert(word(&document["doc_id"]), word(&document["text"]));
    } else if path == "/indexes/any/documents/delete" {
        let doc_id = word(&body["doc_ids"][0]);
        server.documents.remove(&doc_id);
        server.deleted.push(doc_id);
    } else if let Some(doc_id) = path.strip_prefix("/indexes/any/documents/") {
        return match server.documents.get(doc_id) {
            Some(text) => Json(json!({"text": text})).into_response(),
            None => (StatusCode::NOT_FOUND, Json(json!({"detail": "no such document"}))).into_response(),
        };
    }
    let mut found: Vec<Value> = server.documents.keys().map(|doc_id| json!({"doc_id": doc_id})).collect();
    if server.keeps_deleted {
        found.extend(server.deleted.iter().map(|doc_id| json!({"doc_id": doc_id})));
    }
    let choices = json!([{"message": {"content": "An answer."}}]);
    Json(json!({"results": found, "source_nodes": found, "choices": choices})).into_response()
}

fn word(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

async fn load_on(server: Server) -> Load {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
    let router = Router::new().fallback(answer).with_state(Arc::new(Mutex::new(server)));
    tokio::spawn(async move { axum::serve(listener, router).await });
    Load::on(url, "any".to_owned()).unwrap()
}

#[tokio::test]
async fn every_request_is_repeated_until_it_is_answered() {
    let load = load_on(Server::default()).await;
    for number in 0..8 {
        load.write(0, number).await.unwrap();
        load.search(number).await.unwrap();
        load.chat(number).await.unwrap();
    }
    let report = load.state().report.clone();
    assert_eq!(report.documents.len(), 6);
    assert_eq!(report.deleted.into_iter().collect::<Vec<_>>(), ["w0-00001", "w0-00005"]);
    assert_eq!(report.requests, 8 * 4 + 2 * 2);
    assert_eq!(report.repeated, 17);
    assert!(report.repetitions[0].contains("503"), "{:?}", report.repetitions);
}

#[tokio::test]
async fn a_deleted_document_that_is_found_is_wrong() {
    let load = load_on(Server { keeps_deleted: true, ..Server::default() }).await;
    for number in 0..4 {
        load.write(0, number).await.unwrap();
    }
    let wrong = [load.search(0).await.unwrap_err(), load.chat(0).await.unwrap_err()];
    assert!(wrong.iter().all(|wrong| wrong.contains("the deleted document w0-00001 was found")), "{wrong:?}");
}

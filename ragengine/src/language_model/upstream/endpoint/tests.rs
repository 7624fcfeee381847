use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use axum::{Json, Router};
use serde_json::json;
use tokio::net::TcpListener;

use super::*;

/// A language model that is loaded at some time.
#[derive(Default)]
struct Model {
    is_loaded: AtomicBool,
    /// How often the list of models was asked for.
    asked: AtomicUsize,
}

async fn list(State(model): State<Arc<Model>>) -> Result<Json<Value>, StatusCode> {
    model.asked.fetch_add(1, Ordering::Relaxed);
    let is_loaded = model.is_loaded.load(Ordering::Relaxed);
    let list = json!({"data": [{"id": "m", "max_model_len": 8192}]});
    if is_loaded { Ok(Json(list)) } else { Err(StatusCode::SERVICE_UNAVAILABLE) }
}

async fn endpoint(model: &Arc<Model>) -> Arc<Endpoint> {
    drop(rustls::crypto::ring::default_provider().install_default());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let router = Router::new().route("/v1/models", get(list)).with_state(Arc::clone(model));
    tokio::spawn(async move { axum::serve(listener, router).await });
    Arc::new(Endpoint::new(reqwest::Client::new(), &url, None).unwrap())
}

/// Makes the known facts older.
fn age(endpoint: &Endpoint, by: Duration) {
    let mut known = endpoint.facts.write();
    let (_, asked) = known.as_mut().unwrap();
    *asked = asked.checked_sub(by).unwrap();
}

#[tokio::test]
async fn facts_that_were_not_told_are_asked_for_again_before_a_chat() {
    let model = Arc::new(Model::default());
    let endpoint = endpoint(&model).await;
    assert_eq!(endpoint.facts().await.window("m"), None);
    model.is_loaded.store(true, Ordering::Relaxed);
    // A failure holds for a while.
    assert_eq!(endpoint.facts().await.window("m"), None);
    assert_eq!(model.asked.load(Ordering::Relaxed), 1);
    // Then callers wait for one question.
    age(&endpoint, FACTS_RETRY);
    let (one, another) = tokio::join!(endpoint.facts(), endpoint.facts());
    assert_eq!([one.window("m"), another.window("m")], [Some(8192); 2]);
    assert_eq!(model.asked.load(Ordering::Relaxed), 2);
    // Facts that were told are used although the endpoint no longer tells them.
    model.is_loaded.store(false, Ordering::Relaxed);
    age(&endpoint, FACTS_VALIDITY);
    assert_eq!(endpoint.facts().await.window("m"), Some(8192));
    endpoint.ask().await;
    assert_eq!(endpoint.facts().await.window("m"), Some(8192));
}

#[tokio::test]
async fn facts_that_were_not_told_can_be_dropped() {
    let model = Arc::new(Model::default());
    let endpoint = endpoint(&model).await;
    for is_loaded in [false, true, false] {
        model.is_loaded.store(is_loaded, Ordering::Relaxed);
        endpoint.drop_empty_facts();
        endpoint.facts().await;
    }
    assert_eq!(model.asked.load(Ordering::Relaxed), 2, "Facts that were told stay.");
    assert_eq!(endpoint.facts().await.first_model(), Some("m"));
}

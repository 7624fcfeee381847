use std::sync::atomic::{AtomicUsize, Ordering};

use axum::routing::post;
use axum::{Json, Router};
use ragengine_embedding::Embedder;
use ragengine_embedding::remote::{Endpoint, EndpointOptions};
use ragengine_metrics::Builder;
use serde_json::json;
use tokio::net::TcpListener;

use super::*;

/// An endpoint that counts its requests.
struct Counted {
    url: String,
    asked: Arc<AtomicUsize>,
}

impl Counted {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let asked = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&asked);
        let handler = move || {
            counter.fetch_add(1, Ordering::Relaxed);
            async { Json(json!({"data": [{"index": 0, "embedding": [1.0, 0.0]}]})) }
        };
        let router = Router::new().route("/v1/embeddings", post(handler));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, asked }
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }
}

fn remote(url: &str) -> Option<EmbeddingSource> {
    Some(serde_json::from_value(json!({"remote": {"url": url, "model": "m"}})).unwrap())
}

fn local() -> Option<EmbeddingSource> {
    Some(serde_json::from_value(json!({"local": {"modelID": "a/m"}})).unwrap())
}

fn endpoint(url: &str, model: &str) -> Endpoint {
    drop(rustls::crypto::ring::default_provider().install_default());
    Endpoint::new(EndpointOptions::new(url, model)).unwrap()
}

/// The key of the model `m`, which does not depend on the endpoint's address.
fn key() -> ModelKey {
    ModelKey { fingerprint: endpoint("http://127.0.0.1:9/v1", "m").fingerprint().to_owned(), dimensions: 2 }
}

fn needed(index: &str, source: Option<EmbeddingSource>) -> Needed {
    Needed { index: index.to_owned(), key: key(), name: "m".to_owned(), source }
}

/// A server with a different model.
fn embeddings() -> Arc<Embeddings> {
    let metrics = EmbeddingMetrics::new(&mut Builder::new(Duration::from_secs(1)).unwrap()).unwrap();
    let current = Embedder::Remote(endpoint("http://127.0.0.1:9/v1", "another"));
    Embeddings::new(Embedding::new(current, 2, metrics.clone()), PathBuf::from("models"), metrics)
}

async fn keep(embeddings: &Arc<Embeddings>, needed: Vec<Needed>) {
    embeddings.keep(needed);
    embeddings.tried(Duration::from_secs(20)).await;
}

fn why_not(embeddings: &Embeddings, index: &str) -> String {
    embeddings.of(index, &key()).err().unwrap_or_default()
}

#[test]
fn an_index_is_embedded_by_its_own_settings() {
    let (here, there) = (remote("http://here/v1"), remote("http://there/v1"));
    // The settings of two indexes, and whether they share a model.
    for (first, second, share) in [
        (None, None, true),
        (None, here.clone(), false),
        (here.clone(), here.clone(), true),
        (here.clone(), there, false),
        (here, local(), false),
        (local(), local(), true),
        // A loaded local model is checked against the fingerprint of its files.
        (None, local(), true),
    ] {
        for (a, z) in [(&first, &second), (&second, &first)] {
            let models = models(vec![needed("a", a.clone()), needed("z", z.clone())]);
            let of = |index: &str| {
                let models: Vec<_> = models.iter().filter(|model| model.indexes.contains(index)).collect();
                assert_eq!(models.len(), 1, "{index}: {a:?}, {z:?}");
                models[0].source.clone()
            };
            assert_eq!(models.len(), if share { 1 } else { 2 }, "{a:?}, {z:?}");
            assert!(a.is_none() || of("a") == *a, "{a:?}, {z:?}");
            assert!(z.is_none() || of("z") == *z, "{a:?}, {z:?}");
        }
    }
    let wider = Needed { key: ModelKey { dimensions: 3, ..key() }, ..needed("z", local()) };
    assert_eq!(models(vec![needed("a", local()), wider]).len(), 2);
}

#[tokio::test]
async fn questions_are_sent_to_the_endpoint_of_their_index() {
    let (own, strangers) = (Counted::start().await, Counted::start().await);
    for (index, other) in [("a", "z"), ("z", "a")] {
        let embeddings = embeddings();
        let mut both = vec![needed(index, remote(&own.url)), needed(other, remote(&strangers.url))];
        both.sort_by(|left, right| left.index.cmp(&right.index));
        keep(&embeddings, both).await;
        let before = (own.asked(), strangers.asked());
        embeddings.of(index, &key()).unwrap().embed_query("Why?").await.unwrap();
        assert_eq!((own.asked(), strangers.asked()), (before.0 + 1, before.1), "{index}");
        embeddings.of(other, &key()).unwrap().embed_query("Why?").await.unwrap();
        assert_eq!((own.asked(), strangers.asked()), (before.0 + 1, before.1 + 1), "{other}");
    }
}

#[tokio::test]
async fn an_index_without_settings_never_uses_the_endpoint_of_another_index() {
    let own = Counted::start().await;
    for (index, other) in [("a", "z"), ("z", "a")] {
        let embeddings = embeddings();
        let mut both = vec![needed(index, remote(&own.url)), needed(other, None)];
        both.sort_by(|left, right| left.index.cmp(&right.index));
        keep(&embeddings, both).await;
        assert_eq!(why_not(&embeddings, index), "");
        assert!(why_not(&embeddings, other).contains("does not have the settings"), "{other}");
    }
}

#[tokio::test]
async fn later_settings_are_tried_at_once_and_loaded_models_stay() {
    let (works, embeddings) = (Counted::start().await, embeddings());
    // The path does not exist. The 404 is retried after a pause.
    let broken = remote(&works.url.replace("/v1", "/nowhere"));
    let first = vec![needed("a", None), needed("b", broken.clone())];
    keep(&embeddings, first.clone()).await;
    assert!(why_not(&embeddings, "b").contains("404"), "{}", why_not(&embeddings, "b"));
    let with_more = [first, vec![needed("c", remote(&works.url))]].concat();
    keep(&embeddings, with_more.clone()).await;
    assert_eq!((why_not(&embeddings, "c").as_str(), works.asked()), ("", 1));
    assert!(
        why_not(&embeddings, "a").contains("does not have the settings") && why_not(&embeddings, "b").contains("404")
    );
    keep(&embeddings, [with_more, vec![needed("d", remote(&works.url))]].concat()).await;
    assert_eq!((why_not(&embeddings, "d").as_str(), works.asked()), ("", 1), "the model is loaded already");
    // The same index with the settings that work.
    keep(&embeddings, vec![needed("a", remote(&works.url))]).await;
    assert_eq!(why_not(&embeddings, "a"), "");
    keep(&embeddings, Vec::new()).await;
    assert!(why_not(&embeddings, "a").contains("being loaded"));
}

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use futures_util::{StreamExt as _, stream};
use parking_lot::Mutex;
use ragengine::app::{App, start};
use ragengine::{router, server};
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::filled;
use crate::support::settings;

/// The processor time that one poll may use. Parsing, hashing or counting one of the bodies below needs at least 50 ms;
/// passing it on needs less than 1 ms.
const MAX_POLL: Duration = Duration::from_millis(25);

/// The longest processor time of any poll of a request on a serving thread.
#[derive(Clone, Default)]
struct Longest(Arc<Mutex<Duration>>);

impl Longest {
    fn take(&self) -> Duration {
        std::mem::take(&mut self.0.lock())
    }

    fn measure<T>(&self, poll: impl FnOnce() -> T) -> T {
        let before = computed();
        let result = poll();
        let took = computed().saturating_sub(before);
        let mut longest = self.0.lock();
        *longest = took.max(*longest);
        result
    }
}

/// Processor time of this thread.
fn computed() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap(), u32::try_from(time.tv_nsec).unwrap())
}

/// A future whose polls are measured.
struct Measured<F> {
    longest: Longest,
    future: Pin<Box<F>>,
}

impl<F: Future> Future for Measured<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let longest = self.longest.clone();
        longest.measure(|| self.future.as_mut().poll(context))
    }
}

async fn measured(longest: Longest, request: Request, next: Next) -> Response {
    let response = Measured { longest: longest.clone(), future: Box::pin(next.run(request)) }.await;
    let (head, body) = response.into_parts();
    let mut pieces = body.into_data_stream();
    let pieces = stream::poll_fn(move |context| longest.measure(|| pieces.poll_next_unpin(context)));
    Response::from_parts(head, Body::from_stream(pieces))
}

/// Method, path and body of a request, and its expected status.
type ExpensiveRequest = (&'static str, &'static str, String, u16);

/// The most expensive requests of each route.
fn worst() -> Vec<ExpensiveRequest> {
    let long_word = format!("{} ", "qzxjvkw".repeat(14));
    let long_words = |bytes: usize| long_word.repeat(bytes / long_word.len());
    let chat = "/v1/chat/completions";
    let message =
        |text: &str| json!({"index_name": "docs", "messages": [{"role": "user", "content": text}]}).to_string();
    let document = json!({"text": "a ".repeat(400_000)}).to_string();
    let no_text = r#"{"text":""}]}"#;
    let embeddings = json!({"input": vec![long_words(900); 2000]}).to_string();
    let ids: Vec<String> = (0..100_000).map(|number| format!("no document {number}")).collect();
    let small_object = r#"{"":0}"#;
    vec![
        ("POST", "/v1/embeddings", embeddings, 400),
        ("POST", chat, message(&long_words(400_000)), 400),
        ("POST", chat, message(&"a ".repeat(15_000_000)), 400),
        (
            "POST",
            chat,
            filled(
                30 << 20,
                r#"{"index_name":"docs","messages":[{"role":"user","content":"cats"}],"x":["#,
                small_object,
                "]}",
            ),
            200,
        ),
        ("POST", chat, json!({"messages": [{"role": "user", "content": "a ".repeat(15_000_000)}]}).to_string(), 503),
        (
            "POST",
            "/index",
            filled(30 << 20, r#"{"index_name":"docs","documents":["#, &document, &format!(",{no_text}")),
            400,
        ),
        ("POST", "/indexes/docs/documents/delete", json!({"doc_ids": ids}).to_string(), 200),
        ("POST", "/retrieve", json!({"index_name": "docs", "query": "a ".repeat(900_000)}).to_string(), 400),
        ("POST", "/retrieve", json!({"index_name": "docs", "query": "cats", "max_node_count": 300}).to_string(), 200),
        ("GET", "/indexes/docs/documents?limit=100&max_text_length=1000000", String::new(), 200),
        ("GET", "/indexes/docs/sources/s/documents?limit=1000", String::new(), 200),
        ("GET", "/indexes/docs/sources", String::new(), 200),
        ("GET", "/metrics", String::new(), 200),
        ("GET", "/status", String::new(), 200),
    ]
}

/// Documents whose replies are long, because their metadata is close to its limit.
fn documents() -> Value {
    let note = "x".repeat(15_000);
    let document = |number: usize| {
        json!({
            "doc_id": format!("{number}"), "text": format!("Cat {number} sleeps."), "source": "s",
            "metadata": {"note": note}
        })
    };
    json!({"index_name": "docs", "documents": (0..300).map(document).collect::<Vec<_>>()})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_request_computes_on_the_serving_threads() {
    drop(rustls::crypto::ring::default_provider().install_default());
    let data = tempfile::tempdir().unwrap();
    let app = App::new(settings(&data, "retrieval: {maxDistance: 1.1}")).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let longest = Longest::default();
    let layer = from_fn({
        let longest = longest.clone();
        move |request, next| measured(longest.clone(), request, next)
    });
    let service = router::router(Arc::clone(&app)).layer(layer);
    let bounds = server::Bounds::of(&app.settings.limits);
    tokio::spawn(server::serve(listener, service, std::future::pending(), bounds, Arc::clone(&app.metrics)));
    start(&app).await.unwrap();

    let http = reqwest::Client::new();
    let ask = |method: &str, path: &str, body: String| {
        let request = http.request(method.parse().unwrap(), format!("{url}{path}"));
        let request =
            if body.is_empty() { request } else { request.header("content-type", "application/json").body(body) };
        async move {
            let response = request.send().await.unwrap();
            (response.status().as_u16(), response.text().await.unwrap())
        }
    };
    let (status, text) = ask("POST", "/index", documents().to_string()).await;
    assert_eq!(status, 200, "{text}");
    longest.take();
    let mut long = Vec::new();
    for (method, path, body, expected) in worst() {
        let bytes = body.len();
        let (status, text) = ask(method, path, body).await;
        let words: String = text.chars().take(300).collect();
        assert_eq!(status, expected, "{method} {path} of {bytes} bytes: {words}");
        let poll = longest.take();
        if poll > MAX_POLL {
            long.push(format!("{method} {path} of {bytes} bytes: {poll:?}"));
        }
    }
    assert!(long.is_empty(), "{}", long.join("\n"));
}

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, AtomicUsize, Ordering};
use std::time::Duration;

use axum::http::HeaderMap;
use axum::response::Response;
use ragengine_client::Client;
use ragengine_client::wire::{EngineStatus, ProblemKind};
use serde_json::json;
use tempfile::NamedTempFile;

use crate::support::Server;
use crate::support::upstream::{Upstream, completion, json_reply};

const KEY: &str = "sk-very-secret";

/// An endpoint that answers with the statuses `list` and `chat` and counts the requests for its list of models.
struct Endpoint {
    list: Arc<AtomicU16>,
    chat: Arc<AtomicU16>,
    asked: Arc<AtomicUsize>,
    upstream: Upstream,
    key: NamedTempFile,
}

impl Endpoint {
    async fn answering(list: u16, chat: u16) -> Self {
        let (list, chat) = (Arc::new(AtomicU16::new(list)), Arc::new(AtomicU16::new(chat)));
        let asked = Arc::new(AtomicUsize::new(0));
        let (listing, chatting, counting) = (Arc::clone(&list), Arc::clone(&chat), Arc::clone(&asked));
        let upstream = Upstream::listing(
            move |headers| {
                counting.fetch_add(1, Ordering::Relaxed);
                list_reply(listing.load(Ordering::Relaxed), headers)
            },
            move |_| match chatting.load(Ordering::Relaxed) {
                200 => json_reply(200, &completion("Hello.")),
                status => json_reply(status, &json!({"error": {"message": format!("no, {KEY}")}})),
            },
        )
        .await;
        let key = NamedTempFile::new().unwrap();
        std::fs::write(key.path(), KEY).unwrap();
        Self { list, chat, asked, upstream, key }
    }

    async fn server(&self, probe_seconds: u64) -> Server {
        let (url, key) = (&self.upstream.url, self.key.path().display());
        Server::start(&format!(
            "inferenceService: {{url: '{url}', apiKey: {{file: {key}}}, probeSeconds: {probe_seconds}}}"
        ))
        .await
    }
}

/// The list of models, if `status` is 200 and the request has the key. Otherwise an error that repeats the key.
fn list_reply(status: u16, headers: &HeaderMap) -> Response {
    match status {
        200 if headers["authorization"] == format!("Bearer {KEY}").as_str() => {
            json_reply(200, &json!({"data": [{"id": "served"}]}))
        }
        status => json_reply(status, &json!({"error": {"message": format!("not with {KEY}")}})),
    }
}

async fn chat(server: &Server) -> u16 {
    let body = json!({"model": "m", "messages": [{"role": "user", "content": "Hi"}]});
    server.post("/v1/chat/completions", &body).await.status
}

async fn status(server: &Server) -> EngineStatus {
    Client::direct(&server.url).unwrap().status().await.unwrap()
}

/// The detail of the only problem, if any. Checks that the server is ready all the same.
async fn problem(server: &Server) -> Option<String> {
    let mut status = status(server).await;
    assert!(status.ready && status.problems.len() < 2, "{status:?}");
    let problem = status.problems.pop()?;
    assert_eq!(problem.kind, ProblemKind::InferenceServiceFailed);
    Some(problem.detail)
}

async fn metric(server: &Server) -> Option<String> {
    let text = server.get("/metrics").await.text;
    let line = text.lines().find_map(|line| line.strip_prefix("ragengine_language_model_up "));
    line.map(str::to_owned)
}

/// Waits up to 60 s until the problem satisfies `is_expected`, and returns it.
async fn wait_until(server: &Server, is_expected: impl Fn(Option<&str>) -> bool) -> Option<String> {
    for _ in 0..3000 {
        let problem = problem(server).await;
        if is_expected(problem.as_deref()) {
            return problem;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the problem is still {:?}", problem(server).await);
}

/// Waits until the list has been requested `count` more times.
async fn wait_for_probes(endpoint: &Endpoint, count: usize) {
    let until = endpoint.asked.load(Ordering::Relaxed) + count;
    for _ in 0..3000 {
        if endpoint.asked.load(Ordering::Relaxed) >= until {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the list was not requested");
}

#[tokio::test]
async fn a_refused_key_is_reported_without_the_key_until_it_is_accepted() {
    let endpoint = Endpoint::answering(401, 200).await;
    let server = endpoint.server(1).await;
    let said = wait_until(&server, |problem| problem.is_some()).await.unwrap();
    let expected =
        format!("the language model at {}/chat/completions refuses the key: 401: not with ***", endpoint.upstream.url);
    assert_eq!((said, metric(&server).await.as_deref()), (expected, Some("0")));
    endpoint.list.store(200, Ordering::Relaxed);
    wait_until(&server, |problem| problem.is_none()).await;
    assert_eq!(metric(&server).await.as_deref(), Some("1"));
}

#[tokio::test]
async fn an_endpoint_is_reported_down_until_it_answers() {
    let unreachable = Server::start("{inferenceService: {url: 'http://me:secret@127.0.0.1:9/v1'}}").await;
    let said = wait_until(&unreachable, |problem| problem.is_some()).await.unwrap();
    let expected = "the language model at http://127.0.0.1:9/v1/chat/completions does not answer: Connection refused";
    assert!(said.starts_with(expected), "{said}");
    assert_eq!(metric(&unreachable).await.as_deref(), Some("0"));

    let endpoint = Endpoint::answering(503, 503).await;
    let server = endpoint.server(1).await;
    let said = wait_until(&server, |problem| problem.is_some()).await.unwrap();
    assert!(said.ends_with("does not answer: 503: not with ***"), "{said}");
    endpoint.list.store(200, Ordering::Relaxed);
    wait_until(&server, |problem| problem.is_none()).await;
}

#[tokio::test]
async fn without_a_list_of_models_the_health_is_unknown_until_a_chat() {
    let endpoint = Endpoint::answering(404, 200).await;
    let server = endpoint.server(1).await;
    wait_for_probes(&endpoint, 2).await;
    assert_eq!((problem(&server).await, metric(&server).await), (None, None));
    assert_eq!(chat(&server).await, 200);
    assert_eq!(metric(&server).await.as_deref(), Some("1"));
}

#[tokio::test]
async fn only_a_chat_refused_for_its_key_marks_the_model_down() {
    for refusal in [401, 403] {
        let endpoint = Endpoint::answering(200, 502).await;
        let server = endpoint.server(0).await;
        assert_eq!((chat(&server).await, chat(&server).await), (502, 502));
        assert_eq!((problem(&server).await, metric(&server).await), (None, None));
        endpoint.chat.store(refusal, Ordering::Relaxed);
        assert_eq!(chat(&server).await, refusal);
        let said = problem(&server).await.unwrap();
        assert!(said.ends_with(&format!("refuses the key: {refusal}: no, ***")), "{said}");
        assert_eq!(metric(&server).await.as_deref(), Some("0"));
        endpoint.chat.store(200, Ordering::Relaxed);
        assert_eq!((chat(&server).await, problem(&server).await), (200, None));
        assert_eq!(metric(&server).await.as_deref(), Some("1"));
        assert_eq!(endpoint.asked.load(Ordering::Relaxed), 0, "probeSeconds: 0 turns probes off");
    }
}

#[tokio::test]
async fn a_refused_chat_triggers_a_probe_at_once() {
    let endpoint = Endpoint::answering(200, 401).await;
    // The next scheduled probe would be in a day.
    let server = endpoint.server(86_400).await;
    for _ in 0..3000 {
        if metric(&server).await.as_deref() == Some("1") {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    endpoint.list.store(403, Ordering::Relaxed);
    assert_eq!(chat(&server).await, 401);
    wait_until(&server, |problem| problem.is_some_and(|words| words.ends_with("403: not with ***"))).await;
}

#[tokio::test]
async fn a_missing_key_is_reported() {
    let upstream = Upstream::listing(|_| json_reply(401, &json!({"detail": "who are you?"})), |_| unreachable!()).await;
    let server = Server::start(&upstream.settings()).await;
    let said = wait_until(&server, |problem| problem.is_some()).await.unwrap();
    assert!(said.contains("refuses requests without a key (inferenceService.apiKey): 401"), "{said}");
}

#[tokio::test]
async fn the_built_in_model_reports_no_problem() {
    let server = Server::start("{}").await;
    assert_eq!((problem(&server).await, metric(&server).await), (None, None));
}

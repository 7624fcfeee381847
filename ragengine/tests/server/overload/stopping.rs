use std::sync::Arc;

use axum::Router;
use axum::routing::post;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::Notify;

use crate::support::process::Process;
use crate::support::upstream::{completion, json_reply};

/// A server that is shutting down, and a running chat whose language model answers once `go_on` is notified.
struct Stopping {
    server: Process,
    chat: tokio::task::JoinHandle<Result<reqwest::Response, reqwest::Error>>,
    go_on: Arc<Notify>,
    _data: tempfile::TempDir,
}

impl Stopping {
    /// Starts a server with a grace period in seconds, sends it a chat and then SIGTERM.
    async fn begun(grace_s: u64) -> Self {
        drop(rustls::crypto::ring::default_provider().install_default());
        let (go_on, asked) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let (waits, begins) = (Arc::clone(&go_on), Arc::clone(&asked));
        let answer = async move || {
            begins.notify_one();
            waits.notified().await;
            json_reply(200, &completion("Hello."))
        };
        let router = Router::new().route("/v1/chat/completions", post(answer));
        tokio::spawn(async move { axum::serve(listener, router).await });
        let data = tempfile::tempdir().unwrap();
        let folder = data.path().to_owned();
        let start = move || {
            let settings = folder.join("settings.yaml");
            let words = format!("{{inferenceService: {{url: '{url}'}}, limits: {{shutdownGraceSeconds: {grace_s}}}}}");
            std::fs::write(&settings, words).unwrap();
            Process::start_configured(&folder, &settings)
        };
        let mut server = tokio::task::spawn_blocking(start).await.unwrap();
        let body = json!({"model": "m", "messages": [{"role": "user", "content": "Hi"}]});
        let request = reqwest::Client::new().post(format!("{}/v1/chat/completions", server.url)).json(&body);
        let chat = tokio::spawn(request.send());
        asked.notified().await;
        server.signal("TERM");
        let server = tokio::task::spawn_blocking(move || {
            server.wait_until("stops", |server| {
                let lines = server.log_lines();
                lines.iter().any(|line| line["message"].as_str().unwrap().starts_with("stopping")).then_some(())
            });
            server
        });
        Self { server: server.await.unwrap(), chat, go_on, _data: data }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn running_requests_finish_before_the_server_stops() {
    let Stopping { mut server, chat, go_on, _data } = Stopping::begun(60).await;
    // New connections are refused.
    assert!(reqwest::get(format!("{}/livez", server.url)).await.is_err());
    go_on.notify_one();
    assert_eq!(chat.await.unwrap().unwrap().status(), 200);
    assert_eq!(tokio::task::spawn_blocking(move || server.exit_code()).await.unwrap(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_signal_stops_the_server_at_once() {
    let Stopping { mut server, chat, go_on: _go_on, _data } = Stopping::begun(60).await;
    server.signal("TERM");
    assert_eq!(tokio::task::spawn_blocking(move || server.exit_code()).await.unwrap(), Some(143));
    assert!(chat.await.unwrap().is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_over_the_grace_period_are_cut_off_and_logged() {
    let Stopping { mut server, chat, go_on: _go_on, _data } = Stopping::begun(1).await;
    assert!(chat.await.unwrap().is_err());
    let ended = move || (server.exit_code(), server.log_lines());
    let (exit_code, lines) = tokio::task::spawn_blocking(ended).await.unwrap();
    assert_eq!(exit_code, Some(0));
    let is_said = |words: &str| lines.iter().any(|line| line["message"].as_str().unwrap().starts_with(words));
    assert!(is_said("request aborted") && !is_said("client disconnected"), "{lines:?}");
}

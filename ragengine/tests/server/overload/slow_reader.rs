use std::time::Duration;

use axum::body::Body;
use axum::response::IntoResponse as _;
use bytes::Bytes;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::support::Server;
use crate::support::upstream::Upstream;

/// Sends a message when the language model's stream is dropped.
struct Ended(tokio::sync::mpsc::UnboundedSender<()>);

impl Drop for Ended {
    fn drop(&mut self) {
        // The receiver is gone if the test has already failed.
        self.0.send(()).ok();
    }
}

#[tokio::test]
async fn a_client_that_stops_reading_is_cut_off() {
    let (ended, mut has_ended) = tokio::sync::mpsc::unbounded_channel();
    let event = Bytes::from(format!("data: {{\"choices\":[],\"padding\":\"{}\"}}\n\n", "x".repeat(64 << 10)));
    let upstream = Upstream::scripted(move |_| {
        let (event, ended) = (event.clone(), Ended(ended.clone()));
        let endless = futures_util::stream::repeat_with(move || {
            let _ended = &ended;
            Ok::<_, std::io::Error>(event.clone())
        });
        ([("content-type", "text/event-stream")], Body::from_stream(endless)).into_response()
    })
    .await;
    let settings = format!("{{inferenceService: {{url: '{}'}}, limits: {{sendTimeoutSeconds: 1}}}}", upstream.url);
    let server = Server::start(&settings).await;
    let mut client = TcpStream::connect(server.url.trim_start_matches("http://")).await.unwrap();
    let body = json!({"model": "m", "stream": true, "messages": [{"role": "user", "content": "Hi"}]}).to_string();
    let head = "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";
    let head = format!("{head}content-length: {}\r\n\r\n", body.len());
    client.write_all((head + &body).as_bytes()).await.unwrap();
    // The client reads the first bytes and then stops reading.
    client.read_exact(&mut [0; 15]).await.unwrap();
    tokio::time::timeout(Duration::from_secs(60), has_ended.recv())
        .await
        .expect("the language model's stream is dropped");
    server.wait_for_metric("ragengine_connections_cut_total 1").await;
}

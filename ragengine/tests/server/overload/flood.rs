use std::collections::BTreeMap;
use std::time::Duration;

use axum::response::Response;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::support::process::Process;
use crate::support::upstream::{Upstream, delta, event_reply, finish};

const CLIENTS: usize = 500;

/// Size of a body that the server must hold until its end, and then refuses as invalid.
const LARGE_BYTES: usize = 8 << 20;

/// The clients may raise the memory of the server by this much. Their bodies alone have more than 600 MB.
const MAX_MORE_BYTES: u64 = 450 << 20;

const SETTINGS: &str = "limits: {maxBodiesBytes: 33554432, maxRunningReads: 8, maxWaitingReads: 50, \
                        maxRunningChats: 8, maxWaitingChats: 50, maxRunningWrites: 4, maxWaitingWrites: 20, \
                        sendTimeoutSeconds: 5}";

/// The outcome of a client whose connection was closed while it was sending, without a reply.
const CUT_OFF: &str = "cut off";

/// The behaviour of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Client {
    Asks,
    Chats,
    Writes,
    SendsMuch,
    NeverReads,
    Leaves,
}

use Client::{Asks, Chats, Leaves, NeverReads, SendsMuch, Writes};

impl Client {
    fn request(self) -> Vec<u8> {
        let question = "When is the annual tax return due?";
        let (path, body) = match self {
            Asks | Leaves => ("/retrieve", json!({"index_name": "docs", "query": question}).to_string()),
            Chats | NeverReads => (
                "/v1/chat/completions",
                json!({"index_name": "docs", "stream": true, "messages": [{"role": "user", "content": question}]})
                    .to_string(),
            ),
            Writes => ("/index", json!({"index_name": "docs", "documents": [{"text": "The ship left."}]}).to_string()),
            SendsMuch => ("/index", format!("[{}]", " ".repeat(LARGE_BYTES))),
        };
        let length = body.len();
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nconnection: close\r\n\
             content-length: {length}\r\n\r\n"
        );
        (head + &body).into_bytes()
    }

    /// The outcomes that are allowed.
    fn may_get(self) -> &'static [&'static str] {
        match self {
            Asks | Chats | Writes => &["200", "429", "503"],
            SendsMuch => &["422", "429", "503", CUT_OFF],
            NeverReads | Leaves => &["none"],
        }
    }

    /// The status of a request that was not refused for overload.
    fn is_answered_with(self) -> &'static str {
        if self == SendsMuch { "422" } else { "200" }
    }

    /// Sends the request and returns the status of the reply, or "none" for clients that do not wait for one.
    async fn run(self, address: String) -> std::io::Result<String> {
        let mut connection = TcpStream::connect(address).await?;
        let sent = connection.write_all(&self.request()).await;
        // A refusal while sending may close the connection before the body is sent completely.
        if self != SendsMuch {
            sent?;
        }
        match self {
            Leaves => Ok("none".to_owned()),
            NeverReads => {
                // The server or the end of the test closes the connection.
                tokio::time::sleep(Duration::from_secs(3600)).await;
                Ok("none".to_owned())
            }
            Asks | Chats | Writes | SendsMuch => {
                let mut reply = Vec::new();
                let read = connection.read_to_end(&mut reply).await;
                match String::from_utf8_lossy(&reply).split(' ').nth(1) {
                    Some(status) => Ok(status.to_owned()),
                    None if self == SendsMuch => Ok(CUT_OFF.to_owned()),
                    None => read.map(|_| "nothing".to_owned()),
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_is_survived_with_bounded_memory() {
    drop(rustls::crypto::ring::default_provider().install_default());
    let upstream = Upstream::scripted(|_| answer()).await;
    let data = tempfile::tempdir().unwrap();
    let settings = data.path().join("settings.yaml");
    let yaml = format!("{SETTINGS}\ninferenceService: {{url: '{}'}}\nretrieval: {{maxDistance: 1.1}}\n", upstream.url);
    std::fs::write(&settings, yaml).unwrap();
    let folder = data.path().join("data");
    let server = tokio::task::spawn_blocking(move || Process::start_configured(&folder, &settings)).await.unwrap();
    let address = server.url.trim_start_matches("http://").to_owned();
    assert_eq!(Writes.run(address.clone()).await.unwrap(), "200");
    assert_eq!(Asks.run(address.clone()).await.unwrap(), "200");
    let idle_bytes = server.peak_memory_bytes();

    let mut silent = JoinSet::new();
    let mut clients = JoinSet::new();
    for client in [Asks, Chats, Writes, SendsMuch, NeverReads, Leaves].into_iter().cycle().take(CLIENTS) {
        let run = client.run(address.clone());
        let clients = if client == NeverReads { &mut silent } else { &mut clients };
        clients.spawn(async move { (client, run.await) });
    }
    let mut outcomes: BTreeMap<(Client, String), usize> = BTreeMap::new();
    while let Some(outcome) = clients.join_next().await {
        let (client, outcome) = outcome.unwrap();
        let status = outcome.unwrap_or_else(|error| panic!("{client:?}: {error}"));
        assert!(client.may_get().contains(&status.as_str()), "{client:?} got {status}");
        *outcomes.entry((client, status)).or_default() += 1;
    }
    let more_bytes = server.peak_memory_bytes() - idle_bytes;
    assert!(more_bytes < MAX_MORE_BYTES, "{} MiB more: {outcomes:?}", more_bytes >> 20);
    for client in [Asks, Chats, Writes, SendsMuch] {
        let answered = (client, client.is_answered_with().to_owned());
        assert!(outcomes.contains_key(&answered), "{client:?}: {outcomes:?}");
    }
    assert!(outcomes.keys().any(|(_, status)| status == "429"), "no client was refused: {outcomes:?}");
    // The clients that never read are still connected and do not block others.
    for client in [Asks, Chats, Writes] {
        assert_eq!(client.run(address.clone()).await.unwrap(), "200", "{client:?} afterwards");
    }
    println!("{} MiB more: {outcomes:?}", more_bytes >> 20);
}

/// A long streamed answer.
fn answer() -> Response {
    let words = (0..2000).map(|_| delta("word and another word and one more"));
    event_reply(words.chain([finish(), "data: [DONE]\n\n".to_owned()]).map(Ok).collect())
}

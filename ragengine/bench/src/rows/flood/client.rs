use std::net::SocketAddr;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use bytes::Bytes;
use hyper::{Method, StatusCode};
use serde_json::json;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use super::super::ingest::numbered;
use super::super::worst::HeavyBody;
use super::super::{CHAT, INDEX, RETRIEVED, index_chat_request};
use crate::corpus::Corpus;
use crate::http::Connection;
use crate::upstream::{EventPace, Streaming};

/// A large body that the server must receive completely before it finds that it is not a document.
static LARGE: LazyLock<Bytes> = LazyLock::new(|| vec![b' '; 8 << 20].into());

const LONG_ANSWER: Streaming = Streaming { tokens: 2000, pace: EventPace::AtOnce };

/// Last event of a streamed chat.
const LAST_EVENT: &[u8] = b"data: [DONE]\n\n";

/// Behaviour of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Client {
    /// Sends a retrieval.
    Retrieves,
    /// Reads a long stream.
    Chats,
    /// Adds a document.
    Writes,
    /// Sends a large body.
    SendsLargeBody,
    /// Sends a body of the maximum size that needs much memory after parsing.
    SendsHeavyBody(HeavyBody),
    /// Requests a long stream and reads nothing.
    NeverReads,
    /// Sends a request and closes its connection.
    Disconnects,
}

use Client::{Chats, Disconnects, NeverReads, Retrieves, SendsHeavyBody, SendsLargeBody, Writes};

/// Clients that get a normal answer.
pub const READERS: [Client; 3] = [Retrieves, Chats, Writes];

/// Outcome of a client.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ClientOutcome {
    /// Received a whole reply, with the status and the time since the start of the connection.
    Replied(StatusCode, Duration),
    /// The server closed the connection while the client was sending.
    CutOff,
    /// The client closed the connection.
    Disconnected,
}

impl ClientOutcome {
    /// Whether the request was processed. The large body is not a document and gives 422; expensive bodies may be
    /// rejected as invalid or too large.
    pub fn is_answered(self, client: Client) -> bool {
        match self {
            Self::Replied(status, _) => match client {
                SendsLargeBody => status == StatusCode::UNPROCESSABLE_ENTITY,
                SendsHeavyBody(_) => matches!(status.as_u16(), 200 | 400 | 413 | 422),
                _ => status == StatusCode::OK,
            },
            Self::CutOff | Self::Disconnected => false,
        }
    }
}

impl Client {
    /// All kinds in turn, repeated.
    pub fn mixed() -> impl Iterator<Item = Self> {
        [Retrieves, Chats, Writes, SendsLargeBody, NeverReads, Disconnects]
            .into_iter()
            .chain(HeavyBody::ALL.map(SendsHeavyBody))
            .cycle()
    }

    /// Path and body of the request.
    pub fn request(self, number: usize, corpus: &Corpus) -> (&'static str, Bytes) {
        let question = &corpus.questions[number % corpus.questions.len()];
        let text = &corpus.documents[number % corpus.documents.len()];
        match self {
            Retrieves | Disconnects => {
                let body = json!({"index_name": INDEX, "query": question, "max_node_count": RETRIEVED});
                ("/retrieve", body.to_string().into())
            }
            Chats | NeverReads => (CHAT, LONG_ANSWER.add_to(index_chat_request(question)).to_string().into()),
            Writes => {
                let body = json!({"index_name": INDEX, "documents": numbered(std::slice::from_ref(text))});
                ("/index", body.to_string().into())
            }
            SendsLargeBody => ("/index", LARGE.clone()),
            SendsHeavyBody(heavy) => heavy.request(),
        }
    }

    /// Sends the request and waits for its outcome. `NeverReads` waits forever.
    ///
    /// # Errors
    ///
    /// If the connection cannot be opened or breaks unexpectedly.
    pub async fn run(self, address: SocketAddr, request: (&str, Bytes)) -> anyhow::Result<ClientOutcome> {
        let (path, body) = request;
        match self {
            Retrieves | Chats | Writes | SendsLargeBody | SendsHeavyBody(_) => self.wait(address, path, body).await,
            Disconnects => send_only(address, path, &body).await.map(|_connection| ClientOutcome::Disconnected),
            NeverReads => {
                let _connection = send_only(address, path, &body).await?;
                std::future::pending().await
            }
        }
    }

    fn sends_large_body(self) -> bool {
        matches!(self, SendsLargeBody | SendsHeavyBody(_))
    }

    async fn wait(self, address: SocketAddr, path: &str, body: Bytes) -> anyhow::Result<ClientOutcome> {
        let began = Instant::now();
        let mut connection = Connection::open(address).await?;
        match connection.reply(Method::POST, path, body).await {
            Ok((status, reply)) => {
                let is_cut = self == Chats && status == StatusCode::OK && !reply.ends_with(LAST_EVENT);
                ensure!(!is_cut, "a stream ended early");
                Ok(ClientOutcome::Replied(status, began.elapsed()))
            }
            // A server that rejects the body may close the connection before the client reads the reply.
            Err(error) if self.sends_large_body() && error.chain().any(|cause| cause.is::<hyper::Error>()) => {
                Ok(ClientOutcome::CutOff)
            }
            Err(error) => Err(error),
        }
    }
}

/// Sends a request over a plain TCP stream: an HTTP client would read a part of the reply.
async fn send_only(address: SocketAddr, path: &str, body: &[u8]) -> anyhow::Result<TcpStream> {
    let mut connection = TcpStream::connect(address).await.context(address)?;
    let length = body.len();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
    );
    connection.write_all(&[head.as_bytes(), body].concat()).await?;
    Ok(connection)
}

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
use super::super::worst::Heavy;
use super::super::{CHAT, INDEX, RETRIEVED, index_chat_request};
use crate::corpus::Corpus;
use crate::http::Connection;
use crate::upstream::{Pace, Streaming};

/// A body that is counted and kept until it is read to its end, and then is no document.
static LARGE: LazyLock<Bytes> = LazyLock::new(|| vec![b' '; 8 << 20].into());

const LONG_ANSWER: Streaming = Streaming { tokens: 2000, pace: Pace::AtOnce };

/// The end of a streamed chat.
const LAST_EVENT: &[u8] = b"data: [DONE]\n\n";

/// What a client does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Client {
    /// It retrieves.
    Asks,
    /// It reads a long stream.
    Chats,
    /// It adds a document.
    Writes,
    /// It sends a large body.
    SendsMuch,
    /// It sends a body of the largest size that is hard to hold once it is read.
    SendsWorst(Heavy),
    /// It asks for a long stream and takes nothing of it.
    NeverReads,
    /// It asks and closes its connection.
    Leaves,
}

use Client::{Asks, Chats, Leaves, NeverReads, SendsMuch, SendsWorst, Writes};

/// Those that can be answered.
pub const READERS: [Client; 3] = [Asks, Chats, Writes];

/// What became of a client.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Outcome {
    /// It got a whole reply of this status, so long after it had begun to connect.
    Replied(StatusCode, Duration),
    /// Its connection was closed while it sent.
    CutOff,
    /// It did not wait.
    Gone,
}

impl Outcome {
    /// Whether a client got what it wanted. A large body that was taken is found to be no document; the worst may be refused for what they are.
    pub fn is_answered(self, client: Client) -> bool {
        match self {
            Self::Replied(status, _) => match client {
                SendsMuch => status == StatusCode::UNPROCESSABLE_ENTITY,
                SendsWorst(_) => matches!(status.as_u16(), 200 | 400 | 413 | 422),
                _ => status == StatusCode::OK,
            },
            Self::CutOff | Self::Gone => false,
        }
    }
}

impl Client {
    /// All kinds in turn, again and again.
    pub fn mixed() -> impl Iterator<Item = Self> {
        [Asks, Chats, Writes, SendsMuch, NeverReads, Leaves].into_iter().chain(Heavy::ALL.map(SendsWorst)).cycle()
    }

    /// The path and the body of its request.
    pub fn request(self, number: usize, corpus: &Corpus) -> (&'static str, Bytes) {
        let question = &corpus.questions[number % corpus.questions.len()];
        let text = &corpus.documents[number % corpus.documents.len()];
        match self {
            Asks | Leaves => {
                let body = json!({"index_name": INDEX, "query": question, "max_node_count": RETRIEVED});
                ("/retrieve", body.to_string().into())
            }
            Chats | NeverReads => (CHAT, LONG_ANSWER.asked_for_by(index_chat_request(question)).to_string().into()),
            Writes => {
                let body = json!({"index_name": INDEX, "documents": numbered(std::slice::from_ref(text))});
                ("/index", body.to_string().into())
            }
            SendsMuch => ("/index", LARGE.clone()),
            SendsWorst(heavy) => heavy.request(),
        }
    }

    /// Sends its request and waits for what becomes of it; one that never reads waits for ever.
    ///
    /// # Errors
    ///
    /// When it cannot connect, or a connection breaks that should not.
    pub async fn run(self, address: SocketAddr, request: (&str, Bytes)) -> anyhow::Result<Outcome> {
        let (path, body) = request;
        match self {
            Asks | Chats | Writes | SendsMuch | SendsWorst(_) => self.wait(address, path, body).await,
            Leaves => send_only(address, path, &body).await.map(|_connection| Outcome::Gone),
            NeverReads => {
                let _connection = send_only(address, path, &body).await?;
                std::future::pending().await
            }
        }
    }

    fn sends_much(self) -> bool {
        matches!(self, SendsMuch | SendsWorst(_))
    }

    async fn wait(self, address: SocketAddr, path: &str, body: Bytes) -> anyhow::Result<Outcome> {
        let began = Instant::now();
        let mut connection = Connection::open(address).await?;
        match connection.reply(Method::POST, path, body).await {
            Ok((status, reply)) => {
                let is_cut = self == Chats && status == StatusCode::OK && !reply.ends_with(LAST_EVENT);
                ensure!(!is_cut, "a stream ended early");
                Ok(Outcome::Replied(status, began.elapsed()))
            }
            // Who is refused while sending may find the connection closed before the reply is read.
            Err(error) if self.sends_much() && error.chain().any(|cause| cause.is::<hyper::Error>()) => {
                Ok(Outcome::CutOff)
            }
            Err(error) => Err(error),
        }
    }
}

/// A client that reads nothing: any other would take some of the reply.
async fn send_only(address: SocketAddr, path: &str, body: &[u8]) -> anyhow::Result<TcpStream> {
    let mut connection = TcpStream::connect(address).await.context(address)?;
    let length = body.len();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
    );
    connection.write_all(&[head.as_bytes(), body].concat()).await?;
    Ok(connection)
}

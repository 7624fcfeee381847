use std::sync::Arc;

use parking_lot::Mutex;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;

/// An HTTP server that answers everything with the same reply.
pub(super) struct KeyServer {
    pub url: String,
    state: Arc<Mutex<State>>,
    server: AbortHandle,
}

struct State {
    /// None: it does not answer.
    reply: Option<Vec<u8>>,
    requests: usize,
}

impl KeyServer {
    pub async fn start(body: &[u8]) -> Self {
        drop(rustls::crypto::ring::default_provider().install_default());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/jwks.json", listener.local_addr().unwrap());
        let state = Arc::new(Mutex::new(State { reply: Some(reply("200 OK", "", body)), requests: 0 }));
        let shared = Arc::clone(&state);
        let server = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                tokio::spawn(answer(stream, Arc::clone(&shared)));
            }
        });
        Self { url, state, server: server.abort_handle() }
    }

    pub fn set(&self, status: &str, headers: &str, body: &[u8]) {
        self.state.lock().reply = Some(reply(status, headers, body));
    }

    /// Stops answering.
    pub fn hang(&self) {
        self.state.lock().reply = None;
    }

    pub fn requests(&self) -> usize {
        self.state.lock().requests
    }
}

impl Drop for KeyServer {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn answer(mut stream: TcpStream, state: Arc<Mutex<State>>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let Ok(byte) = stream.read_u8().await else { return };
        head.push(byte);
    }
    let reply = {
        let mut state = state.lock();
        state.requests += 1;
        state.reply.clone()
    };
    match reply {
        Some(reply) => drop(stream.write_all(&reply).await),
        None => std::future::pending().await,
    }
}

fn reply(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let mut reply =
        format!("HTTP/1.1 {status}\r\n{headers}connection: close\r\ncontent-length: {}\r\n\r\n", body.len())
            .into_bytes();
    reply.extend_from_slice(body);
    reply
}

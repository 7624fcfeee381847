//! A scripted HTTP server on a free port of this host.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Response, StatusCode, Uri};
use axum::response::IntoResponse;

/// A received request.
#[derive(Debug, Clone)]
pub struct Seen {
    pub path: String,
    pub authorization: Option<String>,
    pub body: Bytes,
}

/// The reaction to a request.
pub type Reaction = Box<dyn FnOnce(&Seen) -> Response<Body> + Send>;

type Otherwise = Box<dyn Fn(&Seen) -> Response<Body> + Send + Sync>;

/// The server's script: the given reactions in turn, then the last one for every further request.
struct Script {
    turns: Mutex<VecDeque<Option<Reaction>>>,
    otherwise: Otherwise,
    seen: Mutex<Vec<Seen>>,
}

pub struct Server {
    pub url: String,
    script: Arc<Script>,
}

impl Server {
    /// A reaction of `None` hangs forever.
    pub async fn start(
        turns: Vec<Option<Reaction>>,
        otherwise: impl Fn(&Seen) -> Response<Body> + Send + Sync + 'static,
    ) -> Self {
        install_provider();
        let script = Script { turns: Mutex::new(turns.into()), otherwise: Box::new(otherwise), seen: Mutex::default() };
        let script = Arc::new(script);
        let router = Router::new().fallback(react).with_state(Arc::clone(&script));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, script }
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.script.seen.lock().unwrap().clone()
    }
}

async fn react(State(script): State<Arc<Script>>, uri: Uri, headers: HeaderMap, body: Bytes) -> Response<Body> {
    let authorization = headers.get("authorization").map(|value| value.to_str().unwrap().to_owned());
    let seen = Seen { path: uri.path().to_owned(), authorization, body };
    script.seen.lock().unwrap().push(seen.clone());
    let turn = script.turns.lock().unwrap().pop_front();
    match turn {
        None => (script.otherwise)(&seen),
        Some(Some(reaction)) => reaction(&seen),
        Some(None) => std::future::pending().await,
    }
}

/// A fixed reply.
pub fn reply(status: u16, headers: &[(&'static str, &'static str)], body: impl Into<Body>) -> Option<Reaction> {
    let mut response = Response::new(body.into());
    *response.status_mut() = StatusCode::from_u16(status).unwrap();
    for (name, value) in headers {
        response.headers_mut().insert(*name, value.parse().unwrap());
    }
    Some(Box::new(move |_| response))
}

pub fn not_found(_: &Seen) -> Response<Body> {
    StatusCode::NOT_FOUND.into_response()
}

/// Installs the rustls provider for the clients. Later calls find it installed.
pub fn install_provider() {
    let _ = rustls::crypto::ring::default_provider().install_default();
}

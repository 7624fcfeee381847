//! The control port of a source. A test uses it to change the content of the source.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use axum::extract::DefaultBodyLimit;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use axum::{Json, Router};
use ragengine_e2e::changes::Changes;
use ragengine_e2e::source::{CONTROL_PORT, PORT};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

/// The maximum size of a request, in bytes. No test sends more.
const MAX_BODY: usize = 16 << 20;

/// `POST /changes`: calls `apply` and returns its result as JSON, or its error.
pub fn changes<A>(apply: A) -> Router
where
    A: Fn(&Changes) -> anyhow::Result<Value> + Send + Sync + 'static,
{
    let apply = Arc::new(apply);
    let handler = async move |Json(changes): Json<Changes>| -> Response {
        // A large file takes a while, so this runs on a blocking thread.
        let applied = tokio::task::spawn_blocking(move || apply(&changes)).await;
        match applied.map_err(anyhow::Error::from).and_then(|applied| applied) {
            Ok(done) => Json(done).into_response(),
            Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{error:#}")).into_response(),
        }
    };
    Router::new().route("/changes", post(handler)).layer(DefaultBodyLimit::max(MAX_BODY))
}

/// Binds the port of the source itself.
pub async fn listen() -> std::io::Result<TcpListener> {
    bind(PORT).await
}

/// Serves both ports until SIGTERM.
pub async fn until_sigterm(source: impl Future<Output = std::io::Result<()>>, control: Router) -> anyhow::Result<()> {
    let listener = bind(CONTROL_PORT).await?;
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        ended = source => ended?,
        ended = async { axum::serve(listener, control).await } => ended?,
        _ = terminate.recv() => {}
    }
    Ok(())
}

async fn bind(port: u16) -> std::io::Result<TcpListener> {
    TcpListener::bind(SocketAddr::from((Ipv4Addr::UNSPECIFIED, port))).await
}

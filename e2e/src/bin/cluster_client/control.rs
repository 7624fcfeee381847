//! The second port of a source, by which a test changes what is in it.

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

/// More than any test sends.
const MAX_BODY: usize = 16 << 20;

/// `POST /changes`: what `apply` gives, as JSON, or why it could not be done.
pub fn changes<A>(apply: A) -> Router
where
    A: Fn(&Changes) -> anyhow::Result<Value> + Send + Sync + 'static,
{
    let apply = Arc::new(apply);
    let handler = async move |Json(changes): Json<Changes>| -> Response {
        // On a thread of its own: a large file takes a while.
        let applied = tokio::task::spawn_blocking(move || apply(&changes)).await;
        match applied.map_err(anyhow::Error::from).and_then(|applied| applied) {
            Ok(done) => Json(done).into_response(),
            Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{error:#}")).into_response(),
        }
    };
    Router::new().route("/changes", post(handler)).layer(DefaultBodyLimit::max(MAX_BODY))
}

/// Where the source itself listens.
pub async fn listen() -> std::io::Result<TcpListener> {
    bind(PORT).await
}

/// Answers on both ports until SIGTERM.
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

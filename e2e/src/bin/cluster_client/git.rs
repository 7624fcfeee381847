//! A git server over https, for one repository and one user. It runs git's own program behind a server with the
//! certificate and the password.

mod backend;
mod repository;

use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use repository::Repository;
use serde_json::json;

use crate::{control, tls};

/// The state of the server.
struct Server {
    work: PathBuf,
    /// The `Authorization` header that requests must have.
    authorization: String,
}

/// Serves a repository until SIGTERM. The certificate is issued for `host`.
pub async fn serve(work: PathBuf, host: &str, username: &str, password: &str) -> anyhow::Result<()> {
    let repository = Repository::make(&work)?;
    let credentials = BASE64_STANDARD.encode(format!("{username}:{password}"));
    let server = Arc::new(Server { work, authorization: format!("Basic {credentials}") });
    let git = Router::new().fallback(answer).with_state(server);
    let identity = tls::Identity::make(host)?;
    let authority = identity.authority.clone();
    let control = control::changes(move |changes| Ok(json!({"commit": repository.commit(changes)?})))
        .route("/ca.crt", get(async move || authority));
    let listener = tls::Listener::new(control::listen().await?, identity.acceptor);
    control::until_sigterm(async { axum::serve(listener, git).await }, control).await
}

async fn answer(State(server): State<Arc<Server>>, request: Request) -> Response {
    let sent = request.headers().get(AUTHORIZATION).map(|header| header.as_bytes());
    if sent != Some(server.authorization.as_bytes()) {
        let challenge = [(WWW_AUTHENTICATE, "Basic realm=\"git\"")];
        return (StatusCode::UNAUTHORIZED, challenge, "username and password are required").into_response();
    }
    match backend::run(&server.work, request).await {
        Ok(response) => response,
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{error:#}")).into_response(),
    }
}

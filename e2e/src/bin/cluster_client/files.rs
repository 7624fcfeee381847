//! A web server for the files of a folder. It records requests, and a test can script its replies.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, IF_MODIFIED_SINCE, IF_NONE_MATCH, LOCATION};
use axum::http::{HeaderMap, HeaderName, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, put};
use axum::{Json, Router};
use ragengine_e2e::source::RecordedRequest;
use serde_json::json;
use tokio::sync::watch;
use tower_http::services::ServeDir;

use crate::{control, folder};

/// The script of a test, and the recorded requests.
#[derive(Default)]
struct Script {
    /// The bearer token that requests must have. Without one, all requests are accepted.
    token: Option<String>,
    /// Redirects: the target of each path.
    redirects: BTreeMap<String, String>,
    /// Paths whose replies are delayed while they are listed here.
    held: BTreeSet<String>,
    asked: Vec<RecordedRequest>,
}

type Shared = Arc<watch::Sender<Script>>;

/// Serves a folder until SIGTERM, with an ETag and a date for each file.
pub async fn serve(folder: PathBuf, token: Option<String>) -> anyhow::Result<()> {
    std::fs::create_dir_all(&folder)?;
    let script: Shared = Arc::new(watch::Sender::new(Script { token, ..Script::default() }));
    let files = Router::new().fallback_service(ServeDir::new(&folder));
    let files = files.layer(from_fn_with_state(Arc::clone(&script), play));
    let changes = control::changes(move |changes| folder::apply(&folder, changes).map(|()| json!({})));
    let control = Router::new()
        .route("/asked", get(asked).delete(forget))
        .route("/redirects", put(set_redirects))
        .route("/held", put(set_held))
        .with_state(script)
        .merge(changes);
    let listener = control::listen().await?;
    control::until_sigterm(async { axum::serve(listener, files).await }, control).await
}

/// Answers from the script or from the file, and records the request with the status of the reply.
async fn play(State(script): State<Shared>, request: Request, next: Next) -> Response {
    let mut asked = describe(&request);
    // The sender outlives the receiver, so the wait cannot fail.
    drop(script.subscribe().wait_for(|script| !script.held.contains(&asked.path)).await);
    let scripted = scripted(&script.borrow(), &asked);
    let response = match scripted {
        Some(response) => response,
        None => next.run(request).await,
    };
    asked.status = response.status().as_u16();
    script.send_modify(|script| script.asked.push(asked));
    response
}

fn scripted(script: &Script, asked: &RecordedRequest) -> Option<Response> {
    let wanted = script.token.as_ref().map(|token| format!("Bearer {token}"));
    if wanted.is_some() && wanted != asked.authorization {
        return Some(StatusCode::UNAUTHORIZED.into_response());
    }
    let target = script.redirects.get(&asked.path)?;
    Some((StatusCode::FOUND, [(LOCATION, target.clone())]).into_response())
}

fn describe(request: &Request) -> RecordedRequest {
    let text = |name: HeaderName| header(request.headers(), name);
    RecordedRequest {
        path: request.uri().path().to_owned(),
        authorization: text(AUTHORIZATION),
        if_none_match: text(IF_NONE_MATCH),
        if_modified_since: text(IF_MODIFIED_SINCE),
        status: 0,
    }
}

fn header(headers: &HeaderMap, name: HeaderName) -> Option<String> {
    Some(String::from_utf8_lossy(headers.get(name)?.as_bytes()).into_owned())
}

async fn asked(State(script): State<Shared>) -> Json<Vec<RecordedRequest>> {
    Json(script.borrow().asked.clone())
}

async fn forget(State(script): State<Shared>) {
    script.send_modify(|script| script.asked.clear());
}

async fn set_redirects(State(script): State<Shared>, Json(redirects): Json<BTreeMap<String, String>>) {
    script.send_modify(|script| script.redirects = redirects);
}

async fn set_held(State(script): State<Shared>, Json(held): Json<BTreeSet<String>>) {
    script.send_modify(|script| script.held = held);
}

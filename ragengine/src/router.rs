//! All routes.

mod refusals;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::Router;
use axum::body::to_bytes;
use axum::extract::Request;
use axum::middleware::from_fn_with_state;
use axum::response::Response;
use axum::routing::get;
use tokio::time::timeout;
use tower_http::catch_panic::CatchPanicLayer;
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::access::Action;
use crate::admission::Work;
use crate::app::App;
use crate::error::{ApiError, shaped};
use crate::http::{
    cache, chat, chat_completions, context, documents, embeddings, feedback, generation, indexes, models, observe,
    page, probes, query, retrieve, search, sources, transfer,
};
use crate::middleware;
use crate::pages::{self, Senders};

#[derive(OpenApi)]
#[openapi(
    info(
        title = "RAGEngine",
        description = "Retrieval-augmented chat over the OpenAI API, answered from your documents, with their sources."
    ),
    // Its route is below, because OpenAPI cannot describe an id with slashes.
    paths(models::describe, documents::describe)
)]
struct Document;

/// Routes about the server and its language model. They bypass admission.
fn state() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::with_openapi(Document::openapi()).routes(routes!(models::list)).merge(probes())
}

/// Routes for probes and monitors.
fn probes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(probes::livez))
        .routes(routes!(probes::readyz))
        .routes(routes!(probes::health))
        .routes(routes!(observe::status))
        .routes(routes!(observe::metrics))
}

fn chats() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(chat_completions::chat_completions))
        .routes(routes!(query::query))
        .routes(routes!(chat::chat))
}

/// Routes that read indexes, embed texts, or change what belongs to the caller.
fn reads() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(embeddings::embeddings))
        .routes(routes!(retrieve::retrieve))
        .routes(routes!(search::search))
        .routes(routes!(context::assess))
        .routes(routes!(query::history))
        .routes(routes!(query::clear))
        .routes(routes!(feedback::vote, feedback::list))
        .routes(routes!(feedback::delete))
        .routes(routes!(feedback::delete_interactions))
        .routes(routes!(documents::list))
        .routes(routes!(documents::list_source))
        .routes(routes!(sources::list))
        .routes(routes!(sources::describe))
        .routes(routes!(indexes::list))
        .routes(routes!(indexes::describe))
}

/// Reading a document, whose id may have slashes.
fn whole_documents() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .route("/indexes/{index_name}/documents/{*doc_id}", get(documents::describe))
        .route("/indexes/{index_name}/documents/delete", get(documents::describe_delete))
}

/// Routes that change indexes. They need the write token, if one is set.
fn writes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(documents::add))
        .routes(routes!(documents::update))
        .routes(routes!(documents::delete))
        .routes(routes!(sources::put, sources::delete))
        .routes(routes!(indexes::put, indexes::delete))
        .routes(routes!(generation::put, generation::delete))
        .routes(routes!(cache::purge))
}

/// Routes that copy indexes. They bypass admission, because they have separate limits for time and size. They need the
/// write token, because they expose or replace whole indexes.
fn copies() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(transfer::persist))
        .routes(routes!(transfer::load))
        .routes(routes!(transfer::backup))
        .routes(routes!(transfer::restore))
}

/// The OpenAPI document of the API, generated from the types.
pub fn openapi() -> utoipa::openapi::OpenApi {
    let mut document = state().merge(chats()).merge(reads()).merge(writes()).merge(copies()).into_openapi();
    refusals::describe(&mut document);
    document
}

/// The service for `listen`.
pub fn router(app: Arc<App>) -> Router {
    let admitted = |work, routes: OpenApiRouter<Arc<App>>| {
        routes.route_layer(from_fn_with_state((Arc::clone(&app), work), middleware::admit))
    };
    let allowed = |action, routes: OpenApiRouter<Arc<App>>| {
        routes.route_layer(from_fn_with_state((Arc::clone(&app), action), middleware::require))
    };
    let writes = allowed(Action::Write, admitted(Work::Write, writes()));
    let (router, mut document) = state()
        .merge(admitted(Work::Chat, chats()))
        .merge(admitted(Work::Read, reads()))
        .merge(admitted(Work::Read, whole_documents()))
        .merge(writes)
        .merge(allowed(Action::Copy, copies()))
        .split_for_parts();
    refusals::describe(&mut document);
    let router = router
        .route("/", get(page::chat))
        .route("/docs", get(page::reference))
        .route("/page/{*path}", get(page::file))
        .route("/openapi.json", get(async move || Json(document)))
        .route("/v1/models/{*id}", get(models::describe));
    let senders = Senders::new(&app.settings, app.settings.listen);
    service(app, router, senders)
}

/// The service for `adminListen`.
pub fn admin_router(app: Arc<App>, listen: SocketAddr) -> Router {
    let (router, _) = probes().split_for_parts();
    let senders = Senders::new(&app.settings, listen);
    service(app, router, senders)
}

/// Adds the middleware of a listener to its routes.
fn service(app: Arc<App>, routes: Router<Arc<App>>, senders: Senders) -> Router {
    let senders = Arc::new(senders);
    let router = routes
        .fallback(unknown_path)
        .method_not_allowed_fallback(unknown_method)
        .layer(CatchPanicLayer::custom(middleware::panicked))
        .layer(from_fn_with_state((Arc::clone(&app), Arc::clone(&senders)), middleware::observe));
    let router = if senders.have_pages() { router.layer(from_fn_with_state(senders, pages::share)) } else { router };
    router.with_state(app)
}

/// The longest body that is read for nothing, and how long it may take.
const PASSED_OVER_BYTES: usize = 64 << 10;
const PASSED_OVER_WITHIN: Duration = Duration::from_millis(500);

/// Reads a short body that nobody needs. Otherwise the connection is closed with the reply if the body arrives after its
/// head, and the next request of a client that uses it again is lost.
async fn pass_over_body(request: &mut Request) {
    let body = std::mem::take(request.body_mut());
    // A longer or slower body ends with the connection.
    drop(timeout(PASSED_OVER_WITHIN, to_bytes(body, PASSED_OVER_BYTES)).await);
}

async fn unknown_path(mut request: Request) -> Response {
    pass_over_body(&mut request).await;
    let path = request.uri().path();
    shaped(path, ApiError::NotFound(format!("the path {path} does not exist: /openapi.json lists all paths")))
}

async fn unknown_method(mut request: Request) -> Response {
    pass_over_body(&mut request).await;
    let path = request.uri().path();
    shaped(
        path,
        ApiError::MethodNotAllowed(format!(
            "{path} does not support {}: /openapi.json lists its methods",
            request.method()
        )),
    )
}

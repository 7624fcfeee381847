//! Every route on one screen.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Json;
use axum::Router;
use axum::extract::Request;
use axum::middleware::from_fn_with_state;
use axum::response::Response;
use axum::routing::get;
use tower_http::catch_panic::CatchPanicLayer;
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::access::Action;
use crate::admission::Work;
use crate::app::App;
use crate::error::{ApiError, shaped};
use crate::http::{
    chat_completions, documents, embeddings, generation, indexes, models, observe, probes, retrieve, sources, transfer,
};
use crate::middleware;
use crate::pages::{self, Senders};

#[derive(OpenApi)]
#[openapi(
    info(
        title = "RAGEngine",
        description = "Retrieval-augmented chat over the OpenAI API, answered from your documents, with their sources."
    ),
    // Its route is below: an id may have slashes, for which OpenAPI has no word.
    paths(models::describe)
)]
struct Document;

/// What the server says about itself and its language model. It never waits.
fn state() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::with_openapi(Document::openapi()).routes(routes!(models::list)).merge(probes())
}

/// What probes and monitors ask.
fn probes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(probes::livez))
        .routes(routes!(probes::readyz))
        .routes(routes!(probes::health))
        .routes(routes!(observe::status))
        .routes(routes!(observe::metrics))
}

fn chats() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(chat_completions::chat_completions))
}

/// What looks something up.
fn reads() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(embeddings::embeddings))
        .routes(routes!(retrieve::retrieve))
        .routes(routes!(documents::list))
        .routes(routes!(documents::list_source))
        .routes(routes!(sources::list))
        .routes(routes!(sources::describe))
        .routes(routes!(indexes::list))
        .routes(routes!(indexes::describe))
}

/// What changes something: all of it wants the write token, where one is set.
fn writes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(documents::add))
        .routes(routes!(documents::update))
        .routes(routes!(documents::delete))
        .routes(routes!(sources::put, sources::delete))
        .routes(routes!(indexes::put, indexes::delete))
        .routes(routes!(generation::put, generation::delete))
}

/// Copies of indexes. They take as long as they take, and what they bring may be larger than any body: they have bounds of their own.
/// They change something or give everything away, and want the token as well.
fn copies() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(transfer::persist))
        .routes(routes!(transfer::load))
        .routes(routes!(transfer::backup))
        .routes(routes!(transfer::restore))
}

/// The server's API as an OpenAPI document, made from the types.
pub fn openapi() -> utoipa::openapi::OpenApi {
    state().merge(chats()).merge(reads()).merge(writes()).merge(copies()).into_openapi()
}

/// The server as one service.
pub fn router(app: Arc<App>) -> Router {
    let admitted = |work, routes: OpenApiRouter<Arc<App>>| {
        routes.route_layer(from_fn_with_state((Arc::clone(&app), work), middleware::admit))
    };
    let allowed = |action, routes: OpenApiRouter<Arc<App>>| {
        routes.route_layer(from_fn_with_state((Arc::clone(&app), action), middleware::require))
    };
    let writes = allowed(Action::Write, admitted(Work::Write, writes()));
    let (router, document) = state()
        .merge(admitted(Work::Chat, chats()))
        .merge(admitted(Work::Read, reads()))
        .merge(writes)
        .merge(allowed(Action::Copy, copies()))
        .split_for_parts();
    let router = router
        .route("/openapi.json", get(async move || Json(document)))
        .route("/v1/models/{*id}", get(models::describe));
    let senders = Senders::new(&app.settings, app.settings.listen);
    service(app, router, senders)
}

/// What is served at `adminListen`.
pub fn admin_router(app: Arc<App>, listen: SocketAddr) -> Router {
    let (router, _) = probes().split_for_parts();
    let senders = Senders::new(&app.settings, listen);
    service(app, router, senders)
}

/// The routes of a listener, with what is around each of them.
fn service(app: Arc<App>, routes: Router<Arc<App>>, senders: Senders) -> Router {
    let senders = Arc::new(senders);
    let router = routes
        .fallback(unknown_path)
        .method_not_allowed_fallback(unknown_method)
        .layer(CatchPanicLayer::custom(middleware::panicked))
        .layer(from_fn_with_state((Arc::clone(&app), Arc::clone(&senders)), pages::guard))
        .layer(from_fn_with_state(Arc::clone(&app), middleware::observe));
    match senders.have_pages() {
        true => router.layer(from_fn_with_state(senders, pages::share)),
        false => router,
    }
    .with_state(app)
}

async fn unknown_path(request: Request) -> Response {
    let path = request.uri().path();
    shaped(path, ApiError::NotFound(format!("there is nothing at {path}: /openapi.json lists what there is")))
}

async fn unknown_method(request: Request) -> Response {
    let path = request.uri().path();
    shaped(
        path,
        ApiError::MethodNotAllowed(format!(
            "{path} does not take {}: /openapi.json lists what it takes",
            request.method()
        )),
    )
}

//! Pages of other sites, which a reader of this server may have open beside it.
//!
//! A form on any page could write to a server on the reader's own machine, and a page under a name that is made to mean that machine
//! could read everything from it. A browser says who asks: `Host` is the name in the page's address, `Origin` the page, and no page may
//! say `application/json` of a body before it has asked whether it may.

mod media_type;
mod sender;
mod share;

use std::sync::Arc;

use axum::body::HttpBody as _;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
pub use sender::{Sender, Senders, Stranger};
pub use share::share;

use crate::admission;
use crate::app::App;
use crate::error::shaped;

/// Lets a request through that no page of another site has sent, or one that may. The question of one that may is answered here.
pub async fn guard(State((app, senders)): State<(Arc<App>, Arc<Senders>)>, request: Request, next: Next) -> Response {
    let checked = senders.check(request.uri(), request.headers());
    let checked = checked.and_then(|sender| media_type::check(&request).map(|()| sender));
    match checked {
        Ok(Sender::AllowedPage) if share::is_question(&request) => share::answer(&request),
        Ok(_) => next.run(request).await,
        Err(stranger) => refuse(&app, request, stranger),
    }
}

fn refuse(app: &App, request: Request, stranger: Stranger) -> Response {
    let refusal = shaped(request.uri().path(), stranger.into());
    if !request.body().is_end_stream() {
        // Who is still sending would find the connection broken, and not read why.
        tokio::spawn(admission::discard(request.into_body(), app.settings.limits.clone()));
    }
    refusal
}

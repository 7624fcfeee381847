//! Protection against web pages of other sites (CSRF and DNS rebinding), and CORS for allowed pages.
//!
//! A form on any web page could write to a server on the user's machine. A page whose name resolves to that machine
//! (DNS rebinding) could read all its data. Browsers identify pages: `Host` has the name in the page's address,
//! `Origin` the page. A page cannot send `application/json` without a preflight request.

mod media_type;
mod sender;
mod share;

use axum::body::HttpBody as _;
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
pub use sender::{Sender, Senders, Stranger};
pub use share::share;

use crate::access::{Caller, Denied, may_enter};
use crate::admission;
use crate::app::App;
use crate::error::{ApiError, shaped};

/// Refuses requests from web pages of other sites that are not allowed. Answers preflight requests of allowed pages.
pub async fn guard(app: &App, senders: &Senders, request: Request, next: Next) -> Response {
    let checked = senders.check(request.uri(), request.headers());
    let checked = checked.and_then(|sender| media_type::check(&request).map(|()| sender));
    match checked {
        Ok(Sender::AllowedPage) if share::is_preflight(&request) => share::answer(&request),
        Ok(_) => match entry(&request) {
            Ok(()) => next.run(request).await,
            Err(denied) => refuse(app, request, denied.into()),
        },
        Err(stranger) => refuse(app, request, stranger.into()),
    }
}

/// Whether the caller is let in. Preflight requests of browsers have no token.
fn entry(request: &Request) -> Result<(), Denied> {
    match request.extensions().get::<Caller>() {
        Some(caller) => may_enter(caller, request.uri().path()),
        None => Ok(()),
    }
}

fn refuse(app: &App, request: Request, error: ApiError) -> Response {
    let refusal = shaped(request.uri().path(), error);
    if !request.body().is_end_stream() {
        // Without this, a client that is still sending sees a broken connection instead of the reply.
        tokio::spawn(admission::discard(request.into_body(), app.settings.limits.clone()));
    }
    refusal
}

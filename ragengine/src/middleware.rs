//! Middleware: request ids, metrics and the access log for all requests; admission for work; the write token for
//! writes.

use std::any::Any;
use std::io;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use axum::Extension;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use tracing::{error, info, warn};

use crate::access::TooMany;
use crate::access::{Action, Audited, Caller, authenticate, may_on_some_index};
use crate::admission::{self, BodyError, Refused, Work};
use crate::app::App;
use crate::error::{ApiError, Failure, shaped};
use crate::pages::{self, Senders};
use crate::server::PeerAddress;
use crate::telemetry::metrics::Counted;
use crate::telemetry::{Logged, REQUEST_ID, traces};
use ragengine_access::AuditRecord;
use ragengine_errors::texts::is_plain_id;
use ragengine_traces::Span;

/// The status of a request whose client disconnected before the reply, as in nginx.
const CLIENT_LEFT: u16 = 499;

/// Refuses requests whose caller may not perform the action. The body of a refused request is discarded.
pub async fn require(
    State((app, action)): State<(Arc<App>, Action)>,
    Extension(caller): Extension<Caller>,
    request: Request,
    next: Next,
) -> Response {
    match may_on_some_index(&caller, action) {
        Ok(()) => next.run(request).await,
        Err(missing) => {
            let refusal = shaped(request.uri().path(), missing.into());
            // Without this, a client that is still sending sees a broken connection instead of the reply.
            tokio::spawn(admission::discard(request.into_body(), app.settings.limits.clone()));
            refusal
        }
    }
}

/// Reads the body, waits for a turn in the queue, and enforces the timeout.
pub async fn admit(State((app, work)): State<(Arc<App>, Work)>, request: Request, next: Next) -> Response {
    let path = request.uri().path().to_owned();
    let refuse = |refused: Refused| {
        app.admission.refused(work, &refused);
        shaped(&path, refused.into())
    };
    if let (Work::Chat, Err(too_many)) = (work, within_rate(&app, &request)) {
        app.metrics.rate_limited(&path);
        let refusal = shaped(&path, too_many.into());
        tokio::spawn(admission::discard(request.into_body(), app.settings.limits.clone()));
        return refusal;
    }
    let (parts, mut body) = request.into_parts();
    let (bytes, held) = match app.admission.bodies().read(work, &mut body).await {
        Ok(read) => read,
        Err(error) => {
            // Without this, a client that is still sending sees a broken connection instead of the reply.
            tokio::spawn(admission::discard(body, app.settings.limits.clone()));
            return match error {
                BodyError::Refused(refused) => refuse(refused),
                error => shaped(&path, error.into()),
            };
        }
    };
    let mut request = Request::from_parts(parts, bytes.into());
    let turn = match app.admission.turn(work).await {
        Ok(turn) => turn,
        Err(refused) => return refuse(refused),
    };
    if work == Work::Chat {
        // The handler frees the turn before it calls the language model, and the body's memory after sending the
        // request.
        request.extensions_mut().insert(turn);
        request.extensions_mut().insert(Arc::new(held));
        return next.run(request).await;
    }
    let response = app.admission.in_time(work, next.run(request)).await;
    drop(held);
    response.unwrap_or_else(refuse)
}

/// Counts a chat against the limit of its caller.
fn within_rate(app: &App, request: &Request) -> Result<(), TooMany> {
    let address = request.extensions().get::<PeerAddress>().map(|PeerAddress(address)| *address);
    match request.extensions().get::<Caller>() {
        Some(caller) => app.rate.take(caller, address),
        None => Ok(()),
    }
}

/// Sets the request id, authenticates the caller, refuses web pages of other sites, and updates the metrics and the
/// access log. One layer does all this, because each layer costs every request a copy of the layers below it.
pub async fn observe(State((app, senders)): State<(Arc<App>, Arc<Senders>)>, request: Request, next: Next) -> Response {
    match &app.traces {
        None => observed(&app, &senders, request, next).await,
        Some(traces) => {
            let method = known_method(request.method().as_str());
            traces::request(traces, method, request, async |request| observed(&app, &senders, request, next).await)
                .await
        }
    }
}

async fn observed(app: &Arc<App>, senders: &Senders, mut request: Request, next: Next) -> Response {
    let id = request_id(request.headers().get(&REQUEST_ID));
    request.headers_mut().insert(REQUEST_ID, id.clone());
    let mut caller = authenticate(app, request.headers()).await;
    let caller_name = caller.logged().map(str::to_owned);
    if Span::is_recorded() {
        let span = Span::current();
        span.set("ragengine.request_id", id.to_str().unwrap_or_default().to_owned());
        span.set_some("enduser.id", caller_name.clone());
    }
    let audited = app.settings.audit.enabled.then(Arc::<Audited>::default);
    if let Some(audited) = &audited {
        caller = caller.audited(audited);
    }
    request.extensions_mut().insert(caller);
    let is_openai = request.uri().path().starts_with("/v1/");
    let observation = Observation {
        app,
        started: Instant::now(),
        method: known_method(request.method().as_str()),
        route: request.extensions().get::<MatchedPath>().cloned(),
        id: id.clone(),
        caller: caller_name,
        audited,
        _in_flight: app.metrics.http.request_begins(),
        has_ended: false,
    };
    let mut response = pages::guard(app, senders, request, next).await;
    if response.extensions().get::<Panicked>().is_some() {
        let error = ApiError::Internal("an unexpected error occurred; the server's log has details".to_owned());
        response = shaped(if is_openai { "/v1/" } else { "/" }, error);
    }
    response.headers_mut().insert(REQUEST_ID, id);
    let failure = response.extensions_mut().remove::<Failure>();
    match response.extensions().get::<Logged>() {
        Some(Logged) => observation.end_unlogged(response.status()),
        None => observation.end(response.status(), failure.as_ref()),
    }
    response
}

/// A request that is being served. If it is dropped before its end, the client has disconnected.
struct Observation<'a> {
    app: &'a App,
    started: Instant,
    method: &'static str,
    route: Option<MatchedPath>,
    id: HeaderValue,
    /// The caller's name.
    caller: Option<String>,
    /// The index of the request, if it is audited.
    audited: Option<Arc<Audited>>,
    _in_flight: Counted,
    has_ended: bool,
}

impl Observation<'_> {
    fn end_unlogged(mut self, status: StatusCode) {
        self.has_ended = true;
        self.measure(status.as_str());
    }

    fn end(mut self, status: StatusCode, failure: Option<&Failure>) {
        self.has_ended = true;
        self.measure(status.as_str());
        let (method, route, elapsed_ms, request_id) = (self.method, self.route(), self.elapsed_ms(), self.id());
        let (caller, status) = (self.caller.as_deref(), status.as_u16());
        match failure {
            None => info!(method, route, status, elapsed_ms, request_id, caller, "request"),
            Some(Failure { kind, words }) if status < 500 => {
                info!(method, route, status, elapsed_ms, request_id, caller, kind, error = words, "request refused");
            }
            Some(Failure { kind, words }) if status == 503 => {
                warn!(method, route, status, elapsed_ms, request_id, caller, kind, error = words, "request failed");
            }
            Some(Failure { kind, words }) => {
                error!(method, route, status, elapsed_ms, request_id, caller, kind, error = words, "request failed");
            }
        }
    }

    fn measure(&self, status: &str) {
        self.audit(status);
        self.app.metrics.http.replied(self.method, self.route(), status, self.started.elapsed());
    }

    /// Writes the line of the audit log, if there is one. The outcome is the status of the reply.
    fn audit(&self, status: &str) {
        let Some(audited) = &self.audited else { return };
        let index = audited.index();
        let record = AuditRecord {
            time: SystemTime::now(),
            request_id: self.id(),
            caller: self.caller.as_deref(),
            action: &format!("{} {}", self.method, self.route()),
            index: index.as_deref(),
            outcome: status,
        };
        if let Err(error) = record.write(io::stdout().lock()) {
            warn!(%error, "audit record not written");
        }
    }

    fn route(&self) -> &str {
        self.route.as_ref().map_or("unmatched", MatchedPath::as_str)
    }

    fn id(&self) -> &str {
        self.id.to_str().unwrap_or_default()
    }

    /// Rounded to microseconds.
    #[expect(clippy::cast_precision_loss, reason = "a request takes less than 2^52 microseconds")]
    fn elapsed_ms(&self) -> f64 {
        self.started.elapsed().as_micros() as f64 / 1000.0
    }
}

impl Drop for Observation<'_> {
    fn drop(&mut self) {
        if !self.has_ended {
            self.measure(&CLIENT_LEFT.to_string());
            let (method, route, elapsed_ms, request_id) = (self.method, self.route(), self.elapsed_ms(), self.id());
            let caller = self.caller.as_deref();
            if self.app.is_grace_over() {
                warn!(
                    method,
                    route, elapsed_ms, request_id, caller, "request aborted: the server stopped before the reply"
                );
            } else {
                info!(
                    method,
                    route,
                    status = CLIENT_LEFT,
                    elapsed_ms,
                    request_id,
                    caller,
                    "client disconnected before the reply"
                );
            }
        }
    }
}

/// Returns the caller's id if it is short and plain, otherwise a new one.
fn request_id(sent: Option<&HeaderValue>) -> HeaderValue {
    let is_plain = |value: &&HeaderValue| is_plain_id(value.as_bytes());
    let made = || {
        HeaderValue::from_str(&uuid::Uuid::new_v4().simple().to_string()).unwrap_or(HeaderValue::from_static("none"))
    };
    sent.filter(is_plain).cloned().unwrap_or_else(made)
}

/// Maps unusual methods to `other`, to bound the number of label values.
fn known_method(method: &str) -> &'static str {
    ["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH"]
        .into_iter()
        .find(|known| *known == method)
        .unwrap_or("other")
}

/// Marks the response of a handler that panicked. [`observe`] replaces it by an error in the shape of its path.
#[derive(Debug, Clone, Copy)]
struct Panicked;

/// Turns a panic, which is logged already, into a response.
pub fn panicked(_: Box<dyn Any + Send + 'static>) -> Response {
    let mut response = StatusCode::INTERNAL_SERVER_ERROR.into_response();
    response.extensions_mut().insert(Panicked);
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_request_id_is_kept_and_others_are_replaced() {
        let taken = HeaderValue::from_static("abc-123");
        assert_eq!(request_id(Some(&taken)), taken);
        let long = HeaderValue::from_str(&"x".repeat(129)).unwrap();
        for odd in [HeaderValue::from_static(""), HeaderValue::from_static("a b"), long] {
            assert_eq!(request_id(Some(&odd)).len(), 32);
        }
        assert_ne!(request_id(None), request_id(None));
    }

    #[test]
    fn an_unknown_method_has_the_label_other() {
        assert_eq!((known_method("PUT"), known_method("BREW")), ("PUT", "other"));
    }
}

//! The spans of requests, with OpenTelemetry's conventions for HTTP servers.

mod body;

use std::sync::Arc;

use axum::extract::{MatchedPath, Request};
use axum::response::Response;
use body::Traced;
use ragengine_traces::{Span, Traces};

use super::chat::ChatOutcome;
use crate::language_model::span::add_usage;
use crate::report::ChatReport;
use ragengine_pipeline::select::Decision;

/// Probes, monitors and the files of the page, which would only fill the traces.
const UNTRACED: [&str; 9] =
    ["/livez", "/readyz", "/health", "/status", "/metrics", "/", "/docs", "/openapi.json", "/page/{*path}"];

/// Serves a request in a span, which ends when the reply has been sent. `name` is the route.
pub async fn request(
    traces: &Traces,
    method: &'static str,
    request: Request,
    serve: impl AsyncFnOnce(Request) -> Response,
) -> Response {
    let route = request.extensions().get::<MatchedPath>().map(|path| Arc::<str>::from(path.as_str()));
    let Some(route) = route.filter(|route| !UNTRACED.contains(&&**route)) else { return serve(request).await };
    let span = traces.request(format!("{method} {route}"), request.headers());
    span.set("http.request.method", method);
    span.set("http.route", route);
    let served = Box::pin(Traced::new(Box::pin(serve(request)), span.clone()));
    let response = served.await;
    let status = response.status();
    span.set("http.response.status_code", i64::from(status.as_u16()));
    if status.is_server_error() {
        span.failed(status.as_str().to_owned());
    }
    response.map(|body| axum::body::Body::new(Traced::new(body, span)))
}

/// Adds what a chat came to, to the span of its request and to that of its answer, which ends.
pub fn ended(report: &ChatReport, outcome: &ChatOutcome<'_>, request: &Span, answer: &Span) {
    if !request.is_live() {
        return;
    }
    request.set("ragengine.path", report.path.label());
    request.set("ragengine.reason", report.reason);
    request.set("ragengine.outcome", outcome.label());
    request.set_some("ragengine.index", report.index.clone());
    if let Some(selection) = &report.selection {
        request.set("ragengine.chunks.found", count(report.found()));
        request.set("ragengine.chunks.selected", count(selection.count(Decision::Selected)));
        request.set("ragengine.context.tokens", i64::try_from(selection.used_tokens).unwrap_or(i64::MAX));
    }
    if let Some(usage) = report.usage {
        add_usage(answer, usage);
    }
    answer.set_some("gen_ai.response.time_to_first_chunk", report.first_token.map(|time| time.as_secs_f64()));
    match outcome {
        ChatOutcome::Answered => {}
        ChatOutcome::Failed(error) => {
            request.set("error.type", error.kind());
            answer.failed(error.kind());
        }
        ChatOutcome::Left => answer.failed("client_left"),
    }
    answer.end();
}

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

use std::borrow::Cow;
use std::time::{Duration, SystemTime};

use http::{HeaderMap, header::HeaderName};
use opentelemetry::propagation::TextMapPropagator as _;
use opentelemetry::trace::{FutureExt as _, SpanKind, Status, TraceContextExt as _, Tracer as _};
use opentelemetry::{Context, ContextGuard, KeyValue, Value};
use opentelemetry_http::HeaderInjector;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::SdkTracer;

/// The header with the state of other tracing systems.
const TRACE_STATE: HeaderName = HeaderName::from_static("tracestate");

/// The attribute with the outcome of a stage.
const OUTCOME: &str = "ragengine.stage.outcome";

/// What records the spans of a trace, in its context.
pub(crate) struct Recorder(pub(crate) SdkTracer);

/// Whose work a span is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Ours.
    Internal,
    /// That of another server, which we wait for.
    Client,
}

/// A part of a trace. Clones are the same span. It ends with [`Self::end`], or when the last clone is dropped.
#[derive(Debug, Clone, Default)]
pub struct Span(Context);

impl Span {
    pub(crate) fn of(context: Context) -> Self {
        Self(context)
    }

    /// The span in which this code runs.
    pub fn current() -> Self {
        Self(Context::current())
    }

    /// Begins a part of the current span. Outside of a recorded trace, the current span itself.
    pub fn child(name: impl Into<Cow<'static, str>>, kind: Kind) -> Self {
        let kind = match kind {
            Kind::Internal => SpanKind::Internal,
            Kind::Client => SpanKind::Client,
        };
        let current = Context::current();
        match current.get::<Recorder>().filter(|_| current.span().is_recording()) {
            Some(Recorder(tracer)) => {
                let span = tracer.build_with_context(tracer.span_builder(name).with_kind(kind), &current);
                Self(current.with_span(span))
            }
            None => Self(current),
        }
    }

    /// Whether the current span is recorded.
    pub fn is_recorded() -> bool {
        Context::map_current(|context| context.has_active_span() && context.span().is_recording())
    }

    /// Whether this span is recorded.
    pub fn is_live(&self) -> bool {
        self.0.has_active_span() && self.0.span().is_recording()
    }

    /// The id of the current trace, as 32 hexadecimal digits.
    pub fn trace_id() -> Option<String> {
        Context::map_current(|context| {
            let span = context.span();
            let context = span.span_context();
            context.is_valid().then(|| context.trace_id().to_string())
        })
    }

    /// Makes this the current span of the thread, until the guard is dropped.
    pub fn enter(&self) -> ContextGuard {
        self.0.clone().attach()
    }

    /// Runs a future with this as its current span.
    pub async fn follow<F: Future>(&self, future: F) -> F::Output {
        if !self.0.has_active_span() {
            return future.await;
        }
        future.with_context(self.0.clone()).await
    }

    /// Adds an attribute.
    pub fn set(&self, name: &'static str, value: impl Into<Value>) {
        self.0.span().set_attribute(KeyValue::new(name, value));
    }

    /// Adds an attribute, if there is a value.
    pub fn set_some(&self, name: &'static str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.set(name, value);
        }
    }

    /// Adds the outcome of a stage.
    pub fn ended_with(&self, outcome: &str) {
        self.set(OUTCOME, outcome.to_owned());
    }

    /// Marks the span as failed, with the short name of the error.
    pub fn failed(&self, kind: impl Into<Cow<'static, str>>) {
        self.set("error.type", kind.into());
        self.0.span().set_status(Status::error(""));
    }

    /// Ends the span.
    pub fn end(&self) {
        self.0.span().end();
    }

    /// Adds this span to the headers of a request, as the parent of what the other server records.
    pub fn inject(&self, headers: &mut HeaderMap) {
        if !self.0.has_active_span() {
            return;
        }
        TraceContextPropagator::new().inject_context(&self.0, &mut HeaderInjector(headers));
        if headers.get(TRACE_STATE).is_some_and(|state| state.is_empty()) {
            headers.remove(TRACE_STATE);
        }
    }
}

/// Runs a future in a part of the current span.
pub async fn in_span<F: Future>(name: &'static str, future: F) -> F::Output {
    if !Span::is_recorded() {
        return future.await;
    }
    let span = Span::child(name, Kind::Internal);
    let output = span.follow(future).await;
    span.end();
    output
}

/// Records a stage that has ended now.
pub fn passed(name: &'static str, outcome: &str, took: Duration) {
    let current = Context::current();
    let Some(Recorder(tracer)) = current.get::<Recorder>().filter(|_| current.span().is_recording()) else { return };
    let ended = SystemTime::now();
    let began = ended.checked_sub(took).unwrap_or(ended);
    let builder = tracer.span_builder(name).with_start_time(began);
    let span = Span(current.with_span(tracer.build_with_context(builder, &current)));
    span.ended_with(outcome);
    span.0.span().end_with_timestamp(ended);
}

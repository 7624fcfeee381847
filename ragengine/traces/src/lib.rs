//! Traces of requests, for an OpenTelemetry collector: [`Traces`] begins the trace of a request and sends its spans,
//! [`Span`] is a part of it.
//!
//! Spans find their parent by the current OpenTelemetry context, which follows a request through futures
//! ([`Span::follow`]) and to other threads. Outside of a recorded trace, everything here does nothing.

mod error;
mod metrics;
mod processor;
mod span;
mod traces;

pub use error::TracesError;
pub use metrics::TraceMetrics;
pub use opentelemetry::Value;
pub use span::{Kind, Span, in_span, passed};
pub use traces::{TraceOptions, Traces};

#[cfg(test)]
mod tests;

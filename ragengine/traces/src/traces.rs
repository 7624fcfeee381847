use std::borrow::Cow;
use std::time::Duration;

use http::HeaderMap;
use opentelemetry::propagation::TextMapPropagator as _;
use opentelemetry::trace::{SpanKind, TraceContextExt as _, Tracer as _, TracerProvider as _};
use opentelemetry::{Context, KeyValue};
use opentelemetry_http::HeaderExtractor;
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{Sampler, SdkTracer, SdkTracerProvider};

use crate::processor::Bounded;
use crate::span::{Recorder, Span};
use crate::{TraceMetrics, TracesError};

/// The name of the service in traces, unless `OTEL_SERVICE_NAME` has another.
const SERVICE_NAME: &str = "ragengine";

/// The time limit for sending a batch, and for sending the rest when the server stops.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The path for traces below the address of a collector (OTLP/HTTP).
const PATH: &str = "v1/traces";

/// Where traces go.
#[derive(Debug, Clone, PartialEq)]
pub struct TraceOptions {
    /// The address of the collector for OTLP over HTTP.
    pub endpoint: String,
    /// The part of the requests that is traced, from 0 to 1. A caller with a trace context decides itself.
    pub sample_ratio: f64,
    /// The version of the program.
    pub version: &'static str,
    /// What tells this server from others.
    pub instance: String,
}

impl TraceOptions {
    fn address(&self) -> String {
        let base = self.endpoint.trim_end_matches('/');
        if base.ends_with(PATH) { base.to_owned() } else { format!("{base}/{PATH}") }
    }
}

/// Begins traces, and sends their spans to a collector.
pub struct Traces {
    provider: SdkTracerProvider,
    tracer: SdkTracer,
}

impl Traces {
    /// Prepares to send spans. Nothing is sent yet.
    ///
    /// # Errors
    ///
    /// [`TracesError`] if the address cannot be used.
    pub fn start(options: &TraceOptions, metrics: TraceMetrics) -> Result<Self, TracesError> {
        let exporter = SpanExporter::builder()
            .with_http()
            .with_endpoint(options.address())
            .with_protocol(Protocol::HttpBinary)
            .with_timeout(TIMEOUT)
            .build()
            .map_err(|cause| TracesError::Exporter { endpoint: options.endpoint.clone(), cause })?;
        let processor = Bounded::new(exporter, metrics);
        let builder = SdkTracerProvider::builder().with_span_processor(processor).with_resource(resource(options));
        Ok(Self::of(builder.with_sampler(sampler(options.sample_ratio)).build()))
    }

    pub(crate) fn of(provider: SdkTracerProvider) -> Self {
        Self { tracer: provider.tracer("ragengine"), provider }
    }

    /// Begins the span of a request. It continues the trace of the caller, if these headers have one (W3C Trace
    /// Context).
    pub fn request(&self, name: impl Into<Cow<'static, str>>, headers: &HeaderMap) -> Span {
        let caller = TraceContextPropagator::new().extract_with_context(&Context::new(), &HeaderExtractor(headers));
        let builder = self.tracer.span_builder(name).with_kind(SpanKind::Server);
        let span = self.tracer.build_with_context(builder, &caller);
        Span::of(caller.with_value(Recorder(self.tracer.clone())).with_span(span))
    }

    /// Sends the spans that wait. Blocks for some seconds at most.
    pub fn stop(&self) {
        if let Err(error) = self.provider.shutdown_with_timeout(TIMEOUT) {
            tracing::warn!(%error, "the last traces were not sent");
        }
    }
}

fn sampler(ratio: f64) -> Sampler {
    let own = if ratio >= 1.0 { Sampler::AlwaysOn } else { Sampler::TraceIdRatioBased(ratio) };
    Sampler::ParentBased(Box::new(own))
}

/// What describes this server in traces. Variables such as `OTEL_RESOURCE_ATTRIBUTES` add to it.
fn resource(options: &TraceOptions) -> Resource {
    let attributes = [
        KeyValue::new("service.version", options.version),
        KeyValue::new("service.instance.id", options.instance.clone()),
    ];
    let builder = Resource::builder().with_attributes(attributes);
    let has_name = std::env::var("OTEL_SERVICE_NAME").is_ok_and(|name| !name.is_empty());
    if has_name { builder.build() } else { builder.with_service_name(SERVICE_NAME).build() }
}

use std::sync::Arc;
use std::time::Duration;

use http::HeaderMap;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{Sampler, SdkTracerProvider, SpanData, SpanExporter};
use parking_lot::Mutex;

use super::*;

/// Spans that have ended.
#[derive(Debug, Clone, Default)]
struct Ended(Arc<Mutex<Vec<SpanData>>>);

impl SpanExporter for Ended {
    async fn export(&self, mut batch: Vec<SpanData>) -> OTelSdkResult {
        self.0.lock().append(&mut batch);
        Ok(())
    }
}

/// Traces whose spans stay in memory.
fn recorded(sampler: Sampler) -> (Traces, Ended) {
    let ended = Ended::default();
    let builder = SdkTracerProvider::builder().with_simple_exporter(ended.clone());
    (Traces::of(builder.with_sampler(sampler).build()), ended)
}

fn by_name<'a>(spans: &'a [SpanData], name: &str) -> &'a SpanData {
    spans.iter().find(|span| span.name == name).unwrap_or_else(|| panic!("no span {name}"))
}

fn from_caller(traceparent: &str) -> HeaderMap {
    HeaderMap::from_iter([(http::HeaderName::from_static("traceparent"), traceparent.parse().unwrap())])
}

#[tokio::test]
async fn parts_of_a_request_form_a_tree() {
    let (traces, exporter) = recorded(Sampler::AlwaysOn);
    let caller = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let request = traces.request("POST /chat", &from_caller(caller));
    request
        .follow(async {
            assert_eq!(Span::trace_id().as_deref(), Some("0af7651916cd43dd8448eb211c80319c"));
            in_span("search", async { passed("recency", "done", Duration::from_millis(5)) }).await;
            let call = Span::child("chat small", Kind::Client);
            let mut headers = HeaderMap::new();
            call.inject(&mut headers);
            let sent = headers["traceparent"].to_str().unwrap();
            assert!(sent.starts_with("00-0af7651916cd43dd8448eb211c80319c-"), "{sent}");
            assert!(!headers.contains_key("tracestate"));
            call.failed("timeout");
        })
        .await;
    request.end();
    let spans = exporter.0.lock().clone();
    let root = by_name(&spans, "POST /chat");
    assert_eq!(root.parent_span_id.to_string(), "b7ad6b7169203331");
    let search = by_name(&spans, "search");
    assert_eq!(search.parent_span_id, root.span_context.span_id());
    let recency = by_name(&spans, "recency");
    assert_eq!(recency.parent_span_id, search.span_context.span_id());
    assert_eq!(recency.end_time.duration_since(recency.start_time).unwrap(), Duration::from_millis(5));
    assert!(matches!(by_name(&spans, "chat small").status, opentelemetry::trace::Status::Error { .. }));
}

#[tokio::test]
async fn nothing_is_recorded_outside_of_a_trace_or_in_one_that_is_not_sampled() {
    assert!(!Span::is_recorded());
    assert_eq!(in_span("search", async { Span::trace_id() }).await, None);
    let (traces, exporter) = recorded(Sampler::ParentBased(Box::new(Sampler::AlwaysOn)));
    let caller = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";
    let request = traces.request("POST /chat", &from_caller(caller));
    let mut headers = HeaderMap::new();
    request.follow(async { in_span("search", async { Span::current().inject(&mut headers) }).await }).await;
    request.end();
    assert!(headers["traceparent"].to_str().unwrap().ends_with("-00"), "the decision of the caller is passed on");
    assert_eq!(exporter.0.lock().clone().len(), 0);
}

#[test]
fn a_malformed_context_begins_a_new_trace() {
    let (traces, exporter) = recorded(Sampler::AlwaysOn);
    for malformed in ["", "00-0-0-01", "00-00000000000000000000000000000000-b7ad6b7169203331-01", "x"] {
        traces.request("GET /", &from_caller(malformed)).end();
    }
    let spans = exporter.0.lock().clone();
    assert_eq!(spans.len(), 4);
    for span in spans {
        assert_eq!(span.parent_span_id, opentelemetry::trace::SpanId::INVALID);
    }
}

#[test]
fn spans_that_find_no_room_are_counted_and_cost_nothing() {
    let mut builder = ragengine_metrics::Builder::new(Duration::from_secs(1)).unwrap();
    let metrics = TraceMetrics::new(&mut builder).unwrap();
    let nobody = TraceOptions {
        endpoint: "http://127.0.0.1:9".to_owned(),
        sample_ratio: 1.0,
        version: "1",
        instance: "test".to_owned(),
    };
    drop(rustls::crypto::ring::default_provider().install_default());
    let traces = Traces::start(&nobody, metrics.clone()).unwrap();
    for _ in 0..20_000 {
        traces.request("GET /", &HeaderMap::new()).end();
    }
    let dropped = metrics.spans("dropped");
    assert!(dropped > 0, "more spans end than can wait");
    traces.stop();
    assert_eq!(metrics.spans("sent"), 0);
    let lost = metrics.spans("failed") + metrics.spans("dropped");
    assert!(lost >= 20_000, "each span is counted: {lost}");
}

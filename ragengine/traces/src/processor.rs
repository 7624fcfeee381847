//! Sends spans in batches from a separate thread. A slow or missing collector never delays a request: a bounded number
//! of spans wait, and further ones are dropped and counted.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use opentelemetry::Context;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{BatchConfigBuilder, BatchSpanProcessor, Span, SpanData, SpanExporter, SpanProcessor};
use tracing::{info, warn};

use crate::TraceMetrics;

/// The most spans that wait. A chat has about a dozen, each of a kilobyte.
const MAX_WAITING: usize = 8192;

/// The most spans that are sent at once.
const MAX_BATCH: usize = 512;

/// How long spans wait for others.
const DELAY: Duration = Duration::from_secs(2);

/// Hands spans to the thread that sends them.
#[derive(Debug)]
pub struct Bounded {
    batches: BatchSpanProcessor,
    waiting: Arc<Waiting>,
}

/// The spans that wait to be sent.
struct Waiting {
    spans: AtomicUsize,
    metrics: TraceMetrics,
}

impl fmt::Debug for Waiting {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Waiting").field("spans", &self.spans).finish_non_exhaustive()
    }
}

impl Bounded {
    /// Sends spans with this exporter.
    pub fn new(exporter: impl SpanExporter + 'static, metrics: TraceMetrics) -> Self {
        metrics.begin();
        let waiting = Arc::new(Waiting { spans: AtomicUsize::new(0), metrics });
        let exporter = Counted { exporter, waiting: Arc::clone(&waiting), is_failing: AtomicBool::new(false) };
        let config = BatchConfigBuilder::default()
            .with_max_queue_size(MAX_WAITING + 2 * MAX_BATCH)
            .with_max_export_batch_size(MAX_BATCH)
            .with_scheduled_delay(DELAY)
            .build();
        Self { batches: BatchSpanProcessor::builder(exporter).with_batch_config(config).build(), waiting }
    }
}

impl SpanProcessor for Bounded {
    fn on_start(&self, span: &mut Span, context: &Context) {
        self.batches.on_start(span, context);
    }

    fn on_end(&self, span: SpanData) {
        // The queue of the batches drops spans without telling, so it has room for more.
        if self.waiting.spans.fetch_add(1, Ordering::Relaxed) < MAX_WAITING {
            self.batches.on_end(span);
        } else {
            self.waiting.spans.fetch_sub(1, Ordering::Relaxed);
            self.waiting.metrics.count("dropped", 1);
        }
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.batches.force_flush()
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        let ended = self.batches.shutdown_with_timeout(timeout);
        let unsent = self.waiting.spans.load(Ordering::Relaxed);
        self.waiting.metrics.count("dropped", unsent);
        ended
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.batches.set_resource(resource);
    }
}

/// Counts what is sent, and logs when sending begins to fail and when it works again.
#[derive(Debug)]
struct Counted<E> {
    exporter: E,
    waiting: Arc<Waiting>,
    is_failing: AtomicBool,
}

impl<E: SpanExporter> SpanExporter for Counted<E> {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let spans = batch.len();
        let sent = self.exporter.export(batch).await;
        self.waiting.spans.fetch_sub(spans, Ordering::Relaxed);
        self.waiting.metrics.count(if sent.is_ok() { "sent" } else { "failed" }, spans);
        let was_failing = self.is_failing.swap(sent.is_err(), Ordering::Relaxed);
        match &sent {
            Err(error) if !was_failing => {
                warn!(%error, "traces are lost: the collector (tracing.otlpEndpoint) does not accept them");
            }
            Ok(()) if was_failing => info!("traces are sent again"),
            Ok(()) | Err(_) => {}
        }
        sent
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.exporter.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}

//! What the operator answers over HTTP: /healthz, /readyz and /metrics.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::get;
use parking_lot::Mutex;
use tokio::net::TcpListener;

use crate::metrics::Metrics;

/// Sets the metrics that are only counted when somebody asks.
pub type Gauge = Box<dyn Fn(&Metrics) + Send>;

/// What is told.
pub struct Admin {
    metrics: Arc<Metrics>,
    gauges: Mutex<Vec<Gauge>>,
    is_ready: AtomicBool,
}

impl Admin {
    /// Not ready yet.
    pub fn new(metrics: Arc<Metrics>) -> Arc<Self> {
        Arc::new(Self { metrics, gauges: Mutex::default(), is_ready: AtomicBool::new(false) })
    }

    /// It acts with full caches, or stands by for the one that does.
    pub fn is_ready(&self, is_ready: bool) {
        self.is_ready.store(is_ready, Ordering::Relaxed);
    }

    /// From now on this is counted too.
    pub fn also_counts(&self, gauge: Gauge) {
        self.gauges.lock().push(gauge);
    }
}

/// Answers, for ever.
///
/// # Errors
///
/// When the address cannot be had.
pub async fn serve(admin: Arc<Admin>, address: SocketAddr) -> std::io::Result<()> {
    let router = Router::new()
        .route("/healthz", get(async || "ok\n"))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .with_state(admin);
    axum::serve(TcpListener::bind(address).await?, router).await
}

async fn ready(State(admin): State<Arc<Admin>>) -> impl IntoResponse {
    match admin.is_ready.load(Ordering::Relaxed) {
        true => (StatusCode::OK, "ok\n"),
        false => (
            StatusCode::SERVICE_UNAVAILABLE,
            "the lease cannot be looked at, or the watches have not shown everything yet: the log says what fails\n",
        ),
    }
}

async fn metrics(State(admin): State<Arc<Admin>>) -> impl IntoResponse {
    for gauge in admin.gauges.lock().iter() {
        gauge(&admin.metrics);
    }
    ([(CONTENT_TYPE, "text/plain; version=0.0.4")], admin.metrics.text())
}

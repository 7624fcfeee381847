//! The operator's HTTP server: /healthz, /readyz and /metrics.

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
use ragengine_settings::without_ipv6;
use tokio::net::TcpListener;

use crate::metrics::Metrics;

/// Updates the metrics that are counted on demand.
pub type Gauge = Box<dyn Fn(&Metrics) + Send>;

/// The state that the HTTP server reports.
pub struct Admin {
    metrics: Arc<Metrics>,
    gauges: Mutex<Vec<Gauge>>,
    is_ready: AtomicBool,
}

impl Admin {
    /// Starts as not ready.
    pub fn new(metrics: Arc<Metrics>) -> Arc<Self> {
        Arc::new(Self { metrics, gauges: Mutex::default(), is_ready: AtomicBool::new(false) })
    }

    /// Sets whether the operator is ready: the leader with filled caches, or a standby that can read the lease.
    pub fn is_ready(&self, is_ready: bool) {
        self.is_ready.store(is_ready, Ordering::Relaxed);
    }

    /// Adds a function that runs before the metrics are served.
    pub fn also_counts(&self, gauge: Gauge) {
        self.gauges.lock().push(gauge);
    }
}

/// Serves until it is aborted.
///
/// # Errors
///
/// When the address cannot be bound.
pub async fn serve(admin: Arc<Admin>, address: SocketAddr) -> std::io::Result<()> {
    let router = Router::new()
        .route("/healthz", get(async || "ok\n"))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .with_state(admin);
    axum::serve(listen(address).await?, router).await
}

/// Listens on an address. `[::]` is all addresses, of both families or of the only one.
async fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    match TcpListener::bind(address).await {
        Err(error) => match without_ipv6(address, &error) {
            Some(address) => TcpListener::bind(address).await,
            None => Err(error),
        },
        listening => listening,
    }
}

async fn ready(State(admin): State<Arc<Admin>>) -> impl IntoResponse {
    if admin.is_ready.load(Ordering::Relaxed) {
        return (StatusCode::OK, "ok\n");
    }
    let message = "the lease cannot be read, or the watches are not filled yet: see the log of the operator\n";
    (StatusCode::SERVICE_UNAVAILABLE, message)
}

async fn metrics(State(admin): State<Arc<Admin>>) -> impl IntoResponse {
    for gauge in admin.gauges.lock().iter() {
        gauge(&admin.metrics);
    }
    ([(CONTENT_TYPE, "text/plain; version=0.0.4")], admin.metrics.text())
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpStream;

    use super::*;

    #[tokio::test]
    async fn all_addresses_include_those_of_ipv4() {
        let listener = listen("[::]:0".parse().unwrap()).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    }
}

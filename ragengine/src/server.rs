//! Listening: one HTTP/1.1 service with timeouts and an orderly end.

use std::convert::Infallible;
use std::error::Error as _;
use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use ragengine_settings::Limits;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_io_timeout::TimeoutStream;
use tower::ServiceExt as _;
use tracing::{debug, info, warn};

use crate::metrics::Metrics;

/// How long a connection may wait for a request, and the head of a request may take. Longer than clients keep idle connections.
const HEAD_TIMEOUT: Duration = Duration::from_secs(120);

/// The pause after the system gave no connection, for example because there are no more file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Bounds of listening.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Connections at a time; more wait in the system's queue.
    pub max_connections: usize,
    /// How long requests that run may take to finish at the end.
    pub grace: Duration,
    /// How long a client may take nothing of what is sent to it.
    pub send_timeout: Duration,
}

impl Bounds {
    /// The bounds that the settings give.
    pub fn of(limits: &Limits) -> Self {
        Self {
            max_connections: limits.max_connections as usize,
            grace: Duration::from_secs(limits.shutdown_grace_seconds),
            send_timeout: Duration::from_secs(limits.send_timeout_seconds),
        }
    }
}

/// Serves until `stop` is done, then lets the requests that run finish.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    stop: impl Future<Output = ()>,
    bounds: Bounds,
    metrics: Arc<Metrics>,
) {
    let connections = GracefulShutdown::new();
    let service = Service { router, send_timeout: bounds.send_timeout, metrics };
    let permits = Arc::new(Semaphore::new(bounds.max_connections));
    let mut stop = std::pin::pin!(stop);
    loop {
        let accepted = tokio::select! {
            accepted = accept(&listener, &permits) => accepted,
            () = &mut stop => break,
        };
        match accepted {
            Ok((stream, permit)) => service.clone().spawn_connection(stream, permit, &connections),
            Err(error) => {
                warn!(%error, "no connection accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    drop(listener);
    info!(grace_s = bounds.grace.as_secs(), "stopping: no new connections; finishing what runs");
    if tokio::time::timeout(bounds.grace, connections.shutdown()).await.is_err() {
        warn!("requests still ran when the grace period was over");
    }
}

async fn accept(listener: &TcpListener, permits: &Arc<Semaphore>) -> io::Result<(TcpStream, OwnedSemaphorePermit)> {
    let permit = Arc::clone(permits).acquire_owned().await.map_err(io::Error::other)?;
    let (stream, _) = listener.accept().await?;
    Ok((stream, permit))
}

/// What every connection is served with.
#[derive(Clone)]
struct Service {
    router: Router,
    send_timeout: Duration,
    metrics: Arc<Metrics>,
}

impl Service {
    fn spawn_connection(self, stream: TcpStream, permit: OwnedSemaphorePermit, connections: &GracefulShutdown) {
        if let Err(error) = stream.set_nodelay(true) {
            debug!(%error, "TCP_NODELAY not set");
        }
        let Self { router, send_timeout, metrics } = self;
        let service = service_fn(move |request: hyper::Request<Incoming>| {
            let router = router.clone();
            async move {
                let response = router.oneshot(request.map(Body::new)).await;
                Ok::<_, Infallible>(response.unwrap_or_else(|never| match never {}))
            }
        });
        let mut stream = TimeoutStream::new(stream);
        stream.set_write_timeout(Some(send_timeout));
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIMEOUT)
            .serve_connection(TokioIo::new(Box::pin(stream)), service);
        let connection = connections.watch(connection);
        tokio::spawn(async move {
            match connection.await {
                Err(error) if takes_nothing(&error) => {
                    metrics.admission.connection_was_cut();
                    debug!(after_s = send_timeout.as_secs(), "connection closed: its client takes nothing");
                }
                Err(error) => debug!(%error, "connection ended"),
                Ok(()) => {}
            }
            drop(permit);
        });
    }
}

/// Whether a connection ended because its client took nothing of what was sent to it. A head that does not come is another timeout.
fn takes_nothing(error: &hyper::Error) -> bool {
    let cause = error.source().and_then(|cause| cause.downcast_ref::<io::Error>());
    cause.is_some_and(|cause| cause.kind() == io::ErrorKind::TimedOut)
}

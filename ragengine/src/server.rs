//! Listening: one HTTP/1.1 service with timeouts and an orderly end.

use std::convert::Infallible;
use std::future::Future;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream};
use tower::ServiceExt as _;
use tracing::{debug, info, warn};

/// How long the head of a request may take.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);

/// The pause after the system gave no connection, for example because there are no more file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves until `stop` is done, then lets the requests that run finish, for at most `grace`.
pub async fn serve(listener: TcpListener, router: Router, stop: impl Future<Output = ()>, grace: Duration) {
    let connections = GracefulShutdown::new();
    let mut stop = std::pin::pin!(stop);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut stop => break,
        };
        match accepted {
            Ok((stream, _)) => spawn_connection(stream, router.clone(), &connections),
            Err(error) => {
                warn!(%error, "no connection accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    drop(listener);
    info!(grace_s = grace.as_secs(), "stopping: no new connections; finishing what runs");
    if tokio::time::timeout(grace, connections.shutdown()).await.is_err() {
        warn!("requests still ran when the grace period was over");
    }
}

fn spawn_connection(stream: TcpStream, router: Router, connections: &GracefulShutdown) {
    if let Err(error) = stream.set_nodelay(true) {
        debug!(%error, "TCP_NODELAY not set");
    }
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let router = router.clone();
        async move {
            let response = router.oneshot(request.map(Body::new)).await;
            Ok::<_, Infallible>(response.unwrap_or_else(|never| match never {}))
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .serve_connection(TokioIo::new(stream), service);
    let connection = connections.watch(connection);
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            debug!(%error, "connection ended");
        }
    });
}

//! Serving one connection.

use std::convert::Infallible;
use std::error::Error as _;
use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_io_timeout::TimeoutStream;
use tower::ServiceExt as _;
use tracing::debug;

use super::connections::{Occupant, Place};
use super::polled_again::PolledAgain;
use super::watched::{WatchedBody, WatchedStream};
use super::{Bounds, PeerAddress, Tls};
use crate::telemetry::metrics::Metrics;

/// Timeout for the next request and its head. Longer than clients keep idle connections.
const HEAD_TIMEOUT: Duration = Duration::from_secs(120);

/// The shared state for all connections of a listener.
#[derive(Clone)]
pub struct Service {
    pub router: Router,
    pub bounds: Bounds,
    pub metrics: Arc<Metrics>,
    /// What encrypts the connections.
    pub tls: Option<Arc<Tls>>,
}

/// How a connection ended.
enum End {
    /// By HTTP, or by the client.
    Http(Result<(), hyper::Error>),
    /// It was idle when it had to close.
    Idle,
    /// No request arrived in time.
    NoRequest,
    /// The TLS handshake failed.
    Handshake(io::Error),
}

impl Service {
    /// Serves a connection until it ends, which frees its place.
    pub fn spawn_connection(self, stream: TcpStream, place: Place) {
        if let Err(error) = stream.set_nodelay(true) {
            debug!(%error, "TCP_NODELAY not set");
        }
        tokio::spawn(PolledAgain::new(async move {
            let send_timeout = self.bounds.send_timeout;
            let metrics = Arc::clone(&self.metrics);
            match self.run(stream, place.occupant()).await {
                End::Http(Err(error)) if is_send_timeout(&error) => {
                    metrics.admission.connection_was_cut();
                    debug!(after_s = send_timeout.as_secs(), "connection closed: the client does not read its reply");
                }
                End::Http(Err(error)) => debug!(%error, "connection ended"),
                End::Http(Ok(())) => {}
                End::Idle => debug!("idle connection closed"),
                End::NoRequest => {
                    place.occupant().sent_no_request();
                    debug!("connection closed: no request arrived");
                }
                End::Handshake(error) => {
                    place.occupant().failed_handshake();
                    debug!(%error, "connection closed: the TLS handshake failed");
                }
            }
        }));
    }

    async fn run(self, stream: TcpStream, occupant: &Arc<Occupant>) -> End {
        let peer = stream.peer_addr().ok().map(|address| PeerAddress(address.ip()));
        let mut stream = TimeoutStream::new(stream);
        stream.set_write_timeout(Some(self.bounds.send_timeout));
        let stream = Box::pin(stream);
        let Some(tls) = self.tls.clone() else { return self.serve(stream, peer, occupant).await };
        let encrypted = tokio::select! {
            encrypted = timeout(self.bounds.first_head_timeout, tls.accept(stream)) => encrypted,
            () = occupant.close_requested() => return End::Idle,
        };
        match encrypted {
            Ok(Ok(stream)) => self.serve(stream, peer, occupant).await,
            Ok(Err(error)) => End::Handshake(error),
            Err(_) => End::NoRequest,
        }
    }

    async fn serve<S>(self, stream: S, peer: Option<PeerAddress>, occupant: &Arc<Occupant>) -> End
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let first_head_timeout = self.bounds.first_head_timeout;
        let stream = WatchedStream { stream, occupant: Arc::clone(occupant) };
        let (router, requests) = (self.router, Arc::clone(occupant));
        let service = service_fn(move |request: hyper::Request<Incoming>| {
            let (running, ending) = requests.begin();
            let mut request = request.map(|body| Body::new(WatchedBody { body, _lasts: running }));
            if let Some(peer) = peer {
                request.extensions_mut().insert(peer);
            }
            let router = router.clone();
            async move {
                let response = router.oneshot(request).await.unwrap_or_else(|never| match never {});
                Ok::<_, Infallible>(response.map(|body| WatchedBody { body, _lasts: ending }))
            }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIMEOUT)
            .serve_connection(TokioIo::new(stream), service);
        let mut connection = pin!(connection);
        let mut first_head = pin!(tokio::time::sleep(first_head_timeout));
        let (mut waits_for_head, mut is_open) = (true, true);
        loop {
            tokio::select! {
                ended = &mut connection => return End::Http(ended),
                () = &mut first_head, if waits_for_head => {
                    if !occupant.has_begun() {
                        return End::NoRequest;
                    }
                    waits_for_head = false;
                }
                () = occupant.close_requested(), if is_open => {
                    connection.as_mut().graceful_shutdown();
                    let poll = poll_fn(|context| Poll::Ready(connection.as_mut().poll(context)));
                    if let Poll::Ready(ended) = poll.await {
                        return End::Http(ended);
                    }
                    // hyper waits for the rest of a partial head, so a slow client could keep its place.
                    if !occupant.is_busy() {
                        return End::Idle;
                    }
                    is_open = false;
                }
            }
        }
    }
}

/// Whether the client did not read its reply in time. The timeout of a head is a different error.
fn is_send_timeout(error: &hyper::Error) -> bool {
    let cause = error.source().and_then(|cause| cause.downcast_ref::<io::Error>());
    cause.is_some_and(|cause| cause.kind() == io::ErrorKind::TimedOut)
}

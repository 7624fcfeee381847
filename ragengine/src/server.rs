//! The HTTP/1.1 server, with timeouts, limits of connections and graceful shutdown.

mod connection;
mod connections;
mod open_files;
mod polled_again;
mod tls;
mod watched;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use connection::Service;
use connections::{Connections, Place};
pub use open_files::raise_open_files;
use ragengine_settings::Limits;
pub use tls::{Tls, TlsError};
use tokio::net::{TcpListener, TcpStream};
use tracing::{info, warn};

use crate::telemetry::metrics::Metrics;

/// The pause after a failed accept, for example without free file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Timeout of the first request head of a connection. Short, because clients connect to send a request.
const FIRST_HEAD_TIMEOUT: Duration = Duration::from_secs(10);

/// Limit of connections to `adminListen`, which each probe and monitor needs.
const MAX_ADMIN_CONNECTIONS: usize = 64;

/// The address of the client of a request, in its extensions.
#[derive(Debug, Clone, Copy)]
pub struct PeerAddress(pub IpAddr);

/// A listener. With [`Tls`], its connections are encrypted.
pub struct Listener {
    /// The listener.
    pub tcp: TcpListener,
    /// What encrypts the connections.
    pub tls: Option<Arc<Tls>>,
}

impl From<TcpListener> for Listener {
    fn from(tcp: TcpListener) -> Self {
        Self { tcp, tls: None }
    }
}

/// Limits of a listener.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// The name of the listener in metrics and the log.
    pub listener: &'static str,
    /// Most concurrent connections. A further connection replaces the longest idle one. If all are busy, it waits in
    /// the system's queue.
    pub max_connections: usize,
    /// Most concurrent connections of one address. Further ones are closed. 0: no limit.
    pub max_connections_per_address: usize,
    /// Timeout of the first request head of a connection.
    pub first_head_timeout: Duration,
    /// Grace period for running requests at shutdown.
    pub grace: Duration,
    /// Timeout for a client that does not read its reply.
    pub send_timeout: Duration,
}

impl Bounds {
    /// The limits of `listen`.
    pub fn of(limits: &Limits) -> Self {
        Self {
            listener: "listen",
            max_connections: limits.max_connections as usize,
            max_connections_per_address: limits.max_connections_per_address as usize,
            first_head_timeout: FIRST_HEAD_TIMEOUT,
            grace: Duration::from_secs(limits.shutdown_grace_seconds),
            send_timeout: Duration::from_secs(limits.send_timeout_seconds),
        }
    }

    /// The limits of `adminListen`, which do not depend on the load of `listen`.
    pub fn of_admin(limits: &Limits) -> Self {
        Self {
            listener: "adminListen",
            max_connections: MAX_ADMIN_CONNECTIONS,
            max_connections_per_address: 0,
            ..Self::of(limits)
        }
    }

    /// Limits the connections to half of the open files of the process. The other half is for indexes and outgoing
    /// requests.
    pub fn within_open_files(self, open_files: u64) -> Self {
        let room = usize::try_from(open_files / 2).unwrap_or(usize::MAX).max(1);
        if room < self.max_connections {
            let Self { max_connections, .. } = self;
            warn!(
                open_files,
                max_connections,
                "limits.maxConnections is more than half of the limit of open files: only {room} connections are \
                 accepted at a time. Raise the limit of open files (ulimit -n), or lower the setting"
            );
        }
        Self { max_connections: self.max_connections.min(room), ..self }
    }
}

/// Serves until `stop` completes, then waits up to `bounds.grace` for running requests.
pub async fn serve(
    listener: impl Into<Listener>,
    router: Router,
    stop: impl Future<Output = ()>,
    bounds: Bounds,
    metrics: Arc<Metrics>,
) {
    let connections = Connections::new(&bounds, metrics.connections.of(bounds.listener));
    let Listener { tcp: listener, tls } = listener.into();
    let service = Service { router, bounds, metrics, tls };
    let mut stop = std::pin::pin!(stop);
    loop {
        let accepted = tokio::select! {
            accepted = accept(&listener, &connections) => accepted,
            () = &mut stop => break,
        };
        match accepted {
            Ok(Some((stream, place))) => service.clone().spawn_connection(stream, place),
            Ok(None) => {}
            Err(error) => {
                warn!(%error, listener = bounds.listener, "accepting a connection failed");
                // An idle connection may hold the file descriptor that is missing.
                connections.close_longest_idle();
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    drop(listener);
    info!(grace_s = bounds.grace.as_secs(), "stopping: no new connections; waiting for running requests");
    if tokio::time::timeout(bounds.grace, connections.close_all()).await.is_err() {
        warn!("the grace period ended before all requests");
    }
}

/// Accepts the next connection and waits for its place. `None` if its address has reached the limit.
async fn accept(listener: &TcpListener, connections: &Arc<Connections>) -> io::Result<Option<(TcpStream, Place)>> {
    let (stream, from) = listener.accept().await?;
    let place = connections.place(SocketAddr::ip(&from)).await;
    Ok(place.map(|place| (stream, place)))
}

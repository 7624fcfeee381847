//! Listening: one HTTP/1.1 service with timeouts, bounds on connections and an orderly end.

mod connection;
mod connections;
mod open_files;
mod watched;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use connection::Service;
use connections::{Connections, Place};
pub use open_files::raise_open_files;
use ragengine_settings::Limits;
use tokio::net::{TcpListener, TcpStream};
use tracing::{info, warn};

use crate::telemetry::metrics::Metrics;

/// The pause after the system gave no connection, for example because there are no more file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// How long the first head of a new connection may take. Whoever connects has something to ask.
const FIRST_HEAD_TIMEOUT: Duration = Duration::from_secs(10);

/// Connections of probes and monitors: each of them needs one.
const MAX_ADMIN_CONNECTIONS: usize = 64;

/// Bounds of listening.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// What the listener is called in metrics and the log.
    pub listener: &'static str,
    /// Connections at a time. For one more the longest idle one is closed; when none is idle, more wait in the system's queue.
    pub max_connections: usize,
    /// Connections of one address at a time; one more is closed. 0: as many as there may be.
    pub max_connections_per_address: usize,
    /// How long the first head of a connection may take.
    pub first_head_timeout: Duration,
    /// How long requests that run may take to finish at the end.
    pub grace: Duration,
    /// How long a client may take nothing of what is sent to it.
    pub send_timeout: Duration,
}

impl Bounds {
    /// The bounds that the settings give.
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

    /// Those of the listener for probes and metrics, whatever happens at the other one.
    pub fn of_admin(limits: &Limits) -> Self {
        Self {
            listener: "adminListen",
            max_connections: MAX_ADMIN_CONNECTIONS,
            max_connections_per_address: 0,
            ..Self::of(limits)
        }
    }

    /// The same for a process that may have so many files open. The other half is for indexes, and for what the server asks itself.
    pub fn within_open_files(self, open_files: u64) -> Self {
        let room = usize::try_from(open_files / 2).unwrap_or(usize::MAX).max(1);
        if room < self.max_connections {
            let Self { max_connections, .. } = self;
            warn!(
                open_files,
                max_connections,
                "limits.maxConnections is more than half of the files that this process may have open: {room} connections are \
                 taken at a time. Raise the limit of open files (ulimit -n), or lower the setting"
            );
        }
        Self { max_connections: self.max_connections.min(room), ..self }
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
    let connections = Connections::new(&bounds, metrics.connections.of(bounds.listener));
    let service = Service { router, bounds, metrics };
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
                warn!(%error, listener = bounds.listener, "no connection accepted");
                // It may be for want of the file descriptor that an idle one has.
                connections.close_longest_idle();
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    drop(listener);
    info!(grace_s = bounds.grace.as_secs(), "stopping: no new connections; finishing what runs");
    if tokio::time::timeout(bounds.grace, connections.close_all()).await.is_err() {
        warn!("requests still ran when the grace period was over");
    }
}

/// The next connection, with its place. None when its address has as many as it may have.
async fn accept(listener: &TcpListener, connections: &Arc<Connections>) -> io::Result<Option<(TcpStream, Place)>> {
    let (stream, from) = listener.accept().await?;
    let place = connections.place(SocketAddr::ip(&from)).await;
    Ok(place.map(|place| (stream, place)))
}

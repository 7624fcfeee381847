//! `ragengine serve`

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tracing::{info, warn};

use super::settings;
use crate::app::{App, start};
use crate::server::{Bounds, raise_open_files};
use crate::telemetry::logging;
use crate::{router, server};

/// The exit code of a server that did not finish what ran, as a shell says it of SIGTERM.
const ENDED_AT_ONCE: i32 = 128 + 15;

/// Serves until it is told to stop.
///
/// # Errors
///
/// When the processor lacks what FAISS was built for, the settings cannot be used, the port is taken, or another process has the
/// data folder.
pub fn run(config: Option<&Path>) -> anyhow::Result<()> {
    ragengine_faiss::check_cpu()?;
    let settings = settings::load(config)?;
    logging::start(&settings.log).map_err(anyhow::Error::msg)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let result = runtime.block_on(serve(settings));
    // What is still in the blocking pool has been given its grace period.
    runtime.shutdown_timeout(Duration::from_secs(1));
    result
}

async fn serve(settings: ragengine_settings::Settings) -> anyhow::Result<()> {
    let (address, admin_address) = (settings.listen, settings.admin_listen);
    let bounds = Bounds::of(&settings.limits).within_open_files(raise_open_files());
    let app = App::new(settings)?;
    let listener = bind(address, "listen (or LISTEN)").await?;
    info!(address = %listener.local_addr()?, version = env!("CARGO_PKG_VERSION"), "listening");
    let admin = serve_admin(&app, admin_address).await?;
    warn_of_open_writes(&app);
    outlive_full_files()?;
    let signalled = stop_signal()?;
    let stop = async {
        signalled.await;
        app.rest();
    };
    let metrics = Arc::clone(&app.metrics);
    let loading = tokio::spawn({
        let app = Arc::clone(&app);
        async move { start(&app).await }
    });
    let failed = async {
        match loading.await {
            Ok(Err(error)) => Some(error),
            // Loaded: nothing to wait for any more.
            Ok(Ok(())) | Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        () = server::serve(listener, router::router(Arc::clone(&app)), stop, bounds, metrics) => {}
        // Until the other one has stopped: who watches the server sees its end.
        () = admin => {}
        Some(error) = failed => return Err(error.into()),
    }
    app.at_rest().await;
    Ok(())
}

async fn bind(address: SocketAddr, setting: &str) -> anyhow::Result<TcpListener> {
    let words = || format!("cannot listen on {address}: stop what listens there, or set {setting} to another address");
    TcpListener::bind(address).await.with_context(words)
}

/// Listens for probes and monitors where that is wanted, and serves them for ever.
async fn serve_admin(app: &Arc<App>, address: Option<SocketAddr>) -> anyhow::Result<impl Future<Output = ()> + use<>> {
    let mut listener = None;
    if let Some(address) = address {
        let bound = bind(address, "adminListen (or ADMIN_LISTEN)").await?;
        info!(address = %bound.local_addr()?, "listening for probes and monitors");
        listener = Some((bound, address));
    }
    let app = Arc::clone(app);
    Ok(async move {
        let Some((listener, address)) = listener else { return std::future::pending().await };
        let (bounds, metrics) = (Bounds::of_admin(&app.settings.limits), Arc::clone(&app.metrics));
        server::serve(listener, router::admin_router(app, address), std::future::pending(), bounds, metrics).await;
    })
}

/// Whoever reaches the server may do everything, and it can be reached from elsewhere.
fn warn_of_open_writes(app: &App) {
    let address = app.settings.listen;
    if app.write_token.is_none() && !address.ip().to_canonical().is_loopback() {
        warn!(
            %address,
            "everybody who reaches this server may add and delete documents, and fetch a copy of all of them: set auth.writeToken, or set \
             listen (or LISTEN) to a loopback address such as 127.0.0.1:5000"
        );
    }
}

/// A write that would make a file larger than the system lets it be (RLIMIT_FSIZE) is to be an error, as on a full disk, and not the end
/// of the process, which is what SIGXFSZ means to one that does not listen to it.
fn outlive_full_files() -> anyhow::Result<()> {
    drop(signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()))?);
    Ok(())
}

/// Done when the process gets SIGTERM or SIGINT. A second one ends it at once: whoever sends it does not want to wait.
fn stop_signal() -> anyhow::Result<impl Future<Output = ()>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut signalled = async move || {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    };
    Ok(async move {
        signalled().await;
        tokio::spawn(async move {
            signalled().await;
            warn!("told to stop a second time: ending at once");
            std::process::exit(ENDED_AT_ONCE);
        });
    })
}

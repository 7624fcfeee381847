//! `ragengine serve`

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use ragengine_settings::without_ipv6;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tracing::{info, warn};

use super::settings;
use crate::app::{App, start};
use crate::server::{Bounds, Listener, Tls, raise_open_files};
use crate::telemetry::logging;
use crate::{router, server};

/// The exit code after a second stop signal: that of a process killed by SIGTERM, as a shell reports it.
const ENDED_AT_ONCE: i32 = 128 + 15;

/// Serves until SIGTERM or SIGINT.
///
/// # Errors
///
/// When the processor lacks instructions that FAISS needs, the settings are invalid, the port is in use, or another
/// process uses the data folder.
pub fn run(config: Option<&Path>) -> anyhow::Result<()> {
    ragengine_faiss::check_cpu()?;
    let settings = settings::load(config)?;
    logging::start(&settings.log).map_err(anyhow::Error::msg)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let result = runtime.block_on(serve(settings));
    // Tasks in the blocking pool have had their grace period already.
    runtime.shutdown_timeout(Duration::from_secs(1));
    result
}

async fn serve(settings: ragengine_settings::Settings) -> anyhow::Result<()> {
    let (address, admin_address) = (settings.listen, settings.admin_listen);
    let bounds = Bounds::of(&settings.limits).within_open_files(raise_open_files());
    let tls = Tls::open(&settings.tls)?;
    let app = App::new(settings)?;
    tls.iter().for_each(|tls| drop(tokio::spawn(Arc::clone(tls).watch())));
    let listener = bind(address, "listen (or LISTEN)").await?;
    info!(address = %listener.local_addr()?, version = env!("CARGO_PKG_VERSION"), is_encrypted = tls.is_some(), "listening");
    let listener = Listener { tcp: listener, tls };
    let admin = serve_admin(&app, admin_address).await?;
    warn_of_open_writes(&app);
    handle_file_size_signal()?;
    let signalled = stop_signal()?;
    let stop = async {
        signalled.await;
        app.shut_down();
    };
    let metrics = Arc::clone(&app.metrics);
    let loading = tokio::spawn({
        let app = Arc::clone(&app);
        async move { start(&app).await }
    });
    let failed = async {
        match loading.await {
            Ok(Err(error)) => Some(error),
            // Loading succeeded, so it cannot fail any more.
            Ok(Ok(())) | Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        () = server::serve(listener, router::router(Arc::clone(&app)), stop, bounds, metrics) => {}
        // The admin listener never ends by itself: monitors can watch the server until it stops.
        () = admin => {}
        Some(error) = failed => return Err(error.into()),
    }
    app.wait_for_background_work().await;
    Ok(())
}

async fn bind(address: SocketAddr, setting: &str) -> anyhow::Result<TcpListener> {
    let failed =
        || format!("cannot listen on {address}: stop the program that uses it, or set {setting} to another address");
    let listening = match TcpListener::bind(address).await {
        Err(error) => match without_ipv6(address, &error) {
            Some(address) => TcpListener::bind(address).await,
            None => Err(error),
        },
        listening => listening,
    };
    listening.with_context(failed)
}

/// Listens on the admin address, if one is set. The returned future serves probes and monitors and never ends.
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

/// Logs a warning when writers need neither a token nor a name, and the address is not a loopback address.
fn warn_of_open_writes(app: &App) {
    let address = app.settings.listen;
    let knows_writers = app.write_token.is_some() || !app.settings.auth.modes.is_empty();
    if !knows_writers && !address.ip().to_canonical().is_loopback() {
        warn!(
            %address,
            "any client can add, delete and download all documents: set auth.writeToken or auth.modes, or set listen \
             (or LISTEN) to a loopback address such as 127.0.0.1:5000"
        );
    }
}

/// Handles SIGXFSZ, so that a write beyond RLIMIT_FSIZE is an error, like a full disk. By default the signal ends the
/// process.
fn handle_file_size_signal() -> anyhow::Result<()> {
    drop(signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()))?);
    Ok(())
}

/// Returns a future that waits for SIGTERM or SIGINT. A second signal ends the process at once.
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
            warn!("second stop signal: exiting at once");
            std::process::exit(ENDED_AT_ONCE);
        });
    })
}

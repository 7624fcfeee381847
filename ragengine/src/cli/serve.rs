//! `ragengine serve`

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tracing::{info, warn};

use super::settings;
use crate::app::{App, start};
use crate::server::Bounds;
use crate::{logging, router, server};

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
    let address = settings.listen;
    let bounds = Bounds::of(&settings.limits);
    let app = App::new(settings)?;
    let listener = TcpListener::bind(address).await.with_context(|| {
        format!("cannot listen on {address}: stop what listens there, or set listen (or LISTEN) to another address")
    })?;
    info!(address = %listener.local_addr()?, version = env!("CARGO_PKG_VERSION"), "listening");
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
        Some(error) = failed => return Err(error.into()),
    }
    app.at_rest().await;
    Ok(())
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

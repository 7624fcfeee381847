//! `ragengine-operator`: see `--help`.

use std::io::Write as _;

use anyhow::Context as _;
use clap::Parser as _;
use ragengine_operator::args::{Arguments, Command, LogFormat};
use ragengine_operator::metrics::Metrics;
use ragengine_operator::{permissions, run};
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;

// Returns memory to the system after lists of thousands of objects.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let command = Arguments::parse().command;
    // Two libraries could each install a crypto provider, so one is chosen explicitly.
    drop(rustls::crypto::ring::default_provider().install_default());
    let printed = match command {
        Command::Run(arguments) => {
            start_log(arguments.log_format)?;
            // Without this thread, freed memory is returned only during further allocations, and an idle operator makes
            // none.
            if let Err(error) = tikv_jemalloc_ctl::background_thread::write(true) {
                tracing::warn!(
                    %error,
                    "the background thread of jemalloc could not be started: unused memory is returned late"
                );
            }
            return run::run(*arguments, stop()?).await.context("the operator exits");
        }
        Command::Permissions => serde_saphyr::to_string(&permissions::permissions())?,
        Command::MetricsReference => Metrics::new()?.markdown(),
    };
    std::io::stdout().write_all(printed.as_bytes())?;
    Ok(())
}

fn start_log(format: LogFormat) -> anyhow::Result<()> {
    let filter =
        EnvFilter::builder().with_default_directive(tracing::Level::INFO.into()).from_env().context("RUST_LOG")?;
    // Reporting a failed write would use the same standard error and panic.
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).log_internal_errors(false);
    match format {
        LogFormat::Json => log.json().flatten_event(true).with_current_span(true).with_span_list(false).init(),
        LogFormat::Text => log.init(),
    }
    Ok(())
}

/// Completes on SIGTERM or Ctrl-C.
fn stop() -> anyhow::Result<impl Future<Output = ()>> {
    let mut terminate = signal(SignalKind::terminate()).context("cannot wait for SIGTERM")?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = tokio::signal::ctrl_c() => {}
        }
    })
}

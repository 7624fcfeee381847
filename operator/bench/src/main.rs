//! Benchmark of the operator, as a separate process, with the cluster of KUBECONFIG: the cost of many RAGEngines, and
//! the time until one is Ready. `make bench` runs it.

mod cluster;
mod metrics;
mod operator;
mod table;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use clap::Parser;
use cluster::Cluster;
use operator::Operator;
use table::Row;

/// Prints a table of the operator's cost. Fails if a limit is exceeded.
#[derive(Debug, Parser)]
#[command(name = "ragengine-operator-bench")]
struct Arguments {
    /// Path of the operator's executable.
    #[arg(long)]
    operator: PathBuf,
    /// Image of the server, already loaded in the cluster.
    #[arg(long)]
    server_image: String,
    /// Number of RAGEngines without replicas.
    #[arg(long, default_value_t = 1000)]
    engines: usize,
    /// Number of times that a RAGEngine is created to measure the time until it is Ready.
    #[arg(long, default_value_t = 5)]
    starts: usize,
}

/// Maximum time to reconcile all RAGEngines.
const RECONCILE_TIMEOUT: Duration = Duration::from_secs(900);

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    drop(rustls::crypto::ring::default_provider().install_default());
    let arguments = Arguments::parse();
    let cluster = Cluster::connect().await?;
    let measured = tokio::select! {
        measured = measure(&arguments, &cluster) => measured,
        _ = tokio::signal::ctrl_c() => Err(anyhow::anyhow!("interrupted")),
    };
    if let Ok(rows) = &measured {
        table::print(rows)?;
    }
    // Also after a failure, so that no objects remain in the cluster.
    cluster.remove().await?;
    let rows = measured?;
    ensure!(rows.iter().all(Row::is_within_limit), "a limit was exceeded");
    Ok(())
}

async fn measure(arguments: &Arguments, cluster: &Cluster) -> anyhow::Result<Vec<Row>> {
    cluster.prepare().await?;
    let (engines, starts) = (arguments.engines, arguments.starts);
    progress(&format!("Creating {engines} RAGEngines"));
    cluster.create_engines(engines).await?;
    let first = Operator::start(arguments, cluster.namespace()).await?;
    let created = wait_until_reconciled(&first, cluster, engines).await?;
    first.stop().await?;

    progress("Restarting the operator with all objects in place");
    let second = Operator::start(arguments, cluster.namespace()).await?;
    let restarted = wait_until_reconciled(&second, cluster, engines).await?;
    let quiet = second.metrics().await?;
    progress("Watching the idle operator");
    tokio::time::sleep(Duration::from_secs(20)).await;
    let writes = second.metrics().await?.writes();
    let memory = second.memory()?;
    ensure!(quiet.writes() <= writes, "a counter decreased");

    progress(&format!("Creating a RAGEngine and waiting until it is Ready, {starts} times"));
    let mut to_ready = Vec::new();
    for number in 0..starts {
        to_ready.push(cluster.seconds_to_ready(&format!("start-{number}")).await?);
    }
    second.stop().await?;
    to_ready.sort_by(f64::total_cmp);
    Ok(vec![
        Row::new(format!("{engines} RAGEngines created and reconciled, s"), created.seconds, None),
        Row::new(format!("{engines} RAGEngines reconciled after a restart, s"), restarted.seconds, Some(60.0)),
        Row::new("CPU time of that, s", restarted.cpu_seconds, None),
        Row::new("API writes after a restart and in the next 20 s", writes, Some(0.0)),
        Row::new("memory, MiB", memory.resident_mib, Some(64.0)),
        Row::new("peak memory, MiB", memory.peak_mib, None),
        Row::new("from apply to Ready with a loaded image, median, s", to_ready[to_ready.len() / 2], Some(5.0)),
        Row::new("from apply to Ready with a loaded image, maximum, s", to_ready[to_ready.len() - 1], None),
    ])
}

/// Time since the start of the operator until everything was reconciled.
struct Reconciled {
    seconds: f64,
    cpu_seconds: f64,
}

/// Waits until all RAGEngines are reconciled and the queue is empty.
async fn wait_until_reconciled(operator: &Operator, cluster: &Cluster, engines: usize) -> anyhow::Result<Reconciled> {
    let deadline = Instant::now() + RECONCILE_TIMEOUT;
    loop {
        let metrics = operator.metrics().await?;
        if metrics.reconciles() >= engines && metrics.is_idle() && cluster.stopped().await? >= engines {
            return Ok(Reconciled { seconds: operator.running_for(), cpu_seconds: operator.cpu_seconds()? });
        }
        let seconds = RECONCILE_TIMEOUT.as_secs();
        ensure!(Instant::now() < deadline, "the operator did not reconcile everything within {seconds} s");
        ensure!(operator.is_running(), "the operator exited; see its log above");
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

fn progress(step: &str) {
    eprintln!("{step}");
}

/// Parses a number.
fn number(text: &str) -> anyhow::Result<f64> {
    text.trim().parse().with_context(|| format!("'{text}' is not a number"))
}

//! Measures the operator, as a process of its own, against the cluster that KUBECONFIG names: what many RAGEngines cost it, and how long one takes to serve.
//! `make bench` runs it.

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

/// Prints a table of what the operator costs, and fails when a limit is not kept.
#[derive(Debug, Parser)]
#[command(name = "ragengine-operator-bench")]
struct Arguments {
    /// The operator's program.
    #[arg(long)]
    operator: PathBuf,
    /// The server's image, which the cluster has.
    #[arg(long)]
    server_image: String,
    /// How many RAGEngines, with no replica each.
    #[arg(long, default_value_t = 1000)]
    engines: usize,
    /// How often one is brought from nothing to Ready.
    #[arg(long, default_value_t = 5)]
    starts: usize,
}

/// The longest that anything is waited for.
const PATIENCE: Duration = Duration::from_secs(900);

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
    // Also after a failure: a thousand objects are not left to somebody else's cluster.
    cluster.remove().await?;
    let rows = measured?;
    ensure!(rows.iter().all(Row::is_kept), "a limit was not kept");
    Ok(())
}

async fn measure(arguments: &Arguments, cluster: &Cluster) -> anyhow::Result<Vec<Row>> {
    cluster.prepare().await?;
    let (engines, starts) = (arguments.engines, arguments.starts);
    progress(&format!("Making {engines} RAGEngines"));
    cluster.make(engines).await?;
    let first = Operator::start(arguments, cluster.namespace()).await?;
    let made = reconciled(&first, cluster, engines).await?;
    first.stop().await?;

    progress("Starting the operator again: everything is there");
    let second = Operator::start(arguments, cluster.namespace()).await?;
    let again = reconciled(&second, cluster, engines).await?;
    let quiet = second.metrics().await?;
    progress("Watching it with nothing to do");
    tokio::time::sleep(Duration::from_secs(20)).await;
    let writes = second.metrics().await?.writes();
    let memory = second.memory()?;
    ensure!(quiet.writes() <= writes, "a counter went back");

    progress(&format!("From nothing to Ready, {starts} times"));
    let mut to_ready = Vec::new();
    for number in 0..starts {
        to_ready.push(cluster.seconds_to_ready(&format!("start-{number}")).await?);
    }
    second.stop().await?;
    to_ready.sort_by(f64::total_cmp);
    Ok(vec![
        Row::new(format!("{engines} RAGEngines made, s"), made.seconds, None),
        Row::new(format!("{engines} RAGEngines after a restart, all reconciled, s"), again.seconds, Some(60.0)),
        Row::new("the same, CPU seconds", again.cpu_seconds, None),
        Row::new("writes after a restart, and in the 20 s after it", writes, Some(0.0)),
        Row::new("memory, MiB", memory.resident_mib, Some(64.0)),
        Row::new("peak memory, MiB", memory.peak_mib, None),
        Row::new("from apply to Ready with a loaded image, s, median", to_ready[to_ready.len() / 2], Some(5.0)),
        Row::new("the same, the longest", to_ready[to_ready.len() - 1], None),
    ])
}

/// What it took to reconcile everything.
struct Reconciled {
    seconds: f64,
    cpu_seconds: f64,
}

/// Waits until every RAGEngine has been reconciled and nothing is left to do.
async fn reconciled(operator: &Operator, cluster: &Cluster, engines: usize) -> anyhow::Result<Reconciled> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let metrics = operator.metrics().await?;
        if metrics.reconciles() >= engines && metrics.is_idle() && cluster.stopped().await? >= engines {
            return Ok(Reconciled { seconds: operator.running_for(), cpu_seconds: operator.cpu_seconds()? });
        }
        ensure!(Instant::now() < deadline, "the operator did not get through within {} s", PATIENCE.as_secs());
        ensure!(operator.is_running(), "the operator ended; its log is above");
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

fn progress(what: &str) {
    eprintln!("{what}");
}

/// The number behind a text.
fn number(text: &str) -> anyhow::Result<f64> {
    text.trim().parse().with_context(|| format!("'{text}' is no number"))
}

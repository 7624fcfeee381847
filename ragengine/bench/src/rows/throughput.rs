use std::thread;
use std::time::Instant;

use super::{Bench, MANY_CLIENTS, latency};
use crate::cpu;
use crate::load::{Load, Outcome, Stop};
use crate::table::{Comparison, Limit, Row, Table};

/// Retrievals of many clients at once, against those of one.
pub async fn throughput(bench: &Bench, table: &mut Table) -> anyhow::Result<()> {
    let one = Load { stop: Stop::After(bench.effort.turn), ..bench.retrievals() };
    let many = Load { clients: MANY_CLIENTS, ..one.clone() };
    let mut comparison = Comparison::default();
    let (mut ones, mut manies) = (Vec::new(), Vec::new());
    let (before, started) = (cpu_of_others(bench)?, Instant::now());
    for round in 1..=bench.effort.rounds {
        eprintln!("/retrieve, 1 and 32 clients: round {round} of {}", bench.effort.rounds);
        let (of_one, of_many) = (bench.run(&one).await?, bench.run(&many).await?);
        comparison.push(of_many.rate(), of_one.rate());
        ones.push(of_one);
        manies.push(of_many);
    }
    let others = cpu_of_others(bench)? - before;
    let available = started.elapsed().as_secs_f64() * thread::available_parallelism()?.get() as f64;
    table.push(comparison.row("/retrieve, 32 clients against 1, a second").with_limit(Limit::AtLeast(1.7)));
    latencies(table, "1 client", &ones);
    latencies(table, "32 clients", &manies);
    table.push(Row::figure(
        "taken by other processes and machines meanwhile, % of the processors",
        others / available * 1e2,
    ));
    Ok(())
}

/// Seconds of processor time that neither the server nor this program had, of all so far.
fn cpu_of_others(bench: &Bench) -> anyhow::Result<f64> {
    let own = cpu::of_process(bench.server.id())? + cpu::of_process(std::process::id())?;
    Ok(cpu::of_machine()?.as_secs_f64() - own.as_secs_f64())
}

fn latencies(table: &mut Table, clients: &str, outcomes: &[Outcome]) {
    for (name, fraction) in [("p50", 0.5), ("p99", 0.99)] {
        table.push(Row::figure(&format!("/retrieve, {clients}, {name} ms"), latency(outcomes, fraction)));
    }
}

use super::{Bench, MANY_CLIENTS, latency};
use crate::load::{Load, LoadResult, Stop};
use crate::table::{Comparison, Limit, Row, Table};

/// Compares the throughput of retrievals with many clients and with one.
pub async fn throughput(bench: &Bench, table: &mut Table) -> anyhow::Result<()> {
    let one = Load { stop: Stop::After(bench.effort.turn), ..bench.retrievals() };
    let many = Load { clients: MANY_CLIENTS, ..one.clone() };
    let mut comparison = Comparison::default();
    let (mut ones, mut manies) = (Vec::new(), Vec::new());
    for round in 1..=bench.effort.rounds {
        eprintln!("/retrieve, 1 and 32 clients: round {round} of {}", bench.effort.rounds);
        let (of_one, of_many) = (bench.run(&one).await?, bench.run(&many).await?);
        comparison.push(of_many.rate(), of_one.rate());
        ones.push(of_one);
        manies.push(of_many);
    }
    table.push(comparison.row("/retrieve, 32 clients against 1, a second").with_limit(Limit::AtLeast(1.7)));
    latencies(table, "1 client", &ones);
    latencies(table, "32 clients", &manies);
    Ok(())
}

fn latencies(table: &mut Table, clients: &str, results: &[LoadResult]) {
    for (name, fraction) in [("p50", 0.5), ("p99", 0.99)] {
        table.push(Row::figure(&format!("/retrieve, {clients}, {name} ms"), latency(results, fraction)));
    }
}

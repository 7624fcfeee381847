use super::Bench;
use super::ingest::mebibytes;
use crate::load::{Load, Stop};
use crate::table::{Limit, Row, Table};
use crate::{log, memory};

/// Measures a start with an existing index, and the memory after some requests.
pub async fn restart(bench: &mut Bench, table: &mut Table) -> anyhow::Result<()> {
    eprintln!("restarting the server with the index");
    bench.server.restart().await?;
    let start = log::start(&bench.server.log()?)?;
    let without_model = (start.indexes + start.after_model).as_secs_f64();
    let requests = Stop::Requests(bench.effort.requests_before_memory);
    bench.run(&Load { stop: requests, ..bench.retrievals() }).await?;
    let resident = memory::of_process(bench.server.id())?.resident;
    table
        .push(Row::figure("start to ready without loading the model, s", without_model).with_limit(Limit::AtMost(1.0)));
    table.push(
        Row::figure("memory after start and retrievals, MiB", mebibytes(resident)).with_limit(Limit::AtMost(300.0)),
    );
    table.push(Row::figure("start: loading the indexes, s", start.indexes.as_secs_f64()));
    table.push(Row::figure("start: loading the model, s", start.model.as_secs_f64()));
    Ok(())
}

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::super::{Bench, CHAT, MANY_CLIENTS, chat_request, index_chat_request};
use crate::event_stream::EventStream;
use crate::http::Connection;
use crate::load::Load;
use crate::memory;
use crate::stream_load::require_all;
use crate::table::{Row, Table};
use crate::upstream::{EventPace, Streaming};

const HELD: Streaming = Streaming { tokens: 20, pace: EventPace::Held };

/// Opens many concurrent streams. All must get their first token before any ends, and all must complete.
pub async fn at_once(bench: &mut Bench, table: &mut Table) -> anyhow::Result<()> {
    let count = bench.effort.streams_at_once;
    measure(bench, "passed through", chat_request, count, table).await?;
    // The queue of the embedding model would reject more concurrent questions.
    measure(bench, "from an index", index_chat_request, MANY_CLIENTS, table).await
}

/// At most `concurrency` requests wait for their first token at the same time.
async fn measure(
    bench: &mut Bench,
    kind: &str,
    request: fn(&str) -> Value,
    concurrency: usize,
    table: &mut Table,
) -> anyhow::Result<()> {
    let count = bench.effort.streams_at_once;
    eprintln!("{count} streams {kind}");
    // A restart frees the memory of earlier measurements.
    bench.server.restart().await?;
    let warm_up = Load { clients: MANY_CLIENTS, ..bench.one_client(CHAT, bench.bodies(request)) };
    bench.run(&warm_up).await?;

    let resident = || anyhow::Ok(memory::of_process(bench.server.id())?.resident);
    let before = resident()?;
    let bodies = bench.bodies(|question| HELD.add_to(request(question)));
    let (streams, took) = open(bench, bodies.iter().cycle().take(count), concurrency).await?;
    let more = resident()?.saturating_sub(before);
    bench.upstream.release();
    let ends: JoinSet<_> = streams.into_iter().map(|stream| async { stream.read_to_end().await }).collect();
    let ends = ends.join_all().await;
    bench.upstream.hold();
    ends.into_iter().collect::<anyhow::Result<()>>()?;

    let name = |what: &str| format!("{count} streams {kind}: {what}");
    let kibibytes = more as f64 / 1024.0;
    table.push(Row::figure(&name("additional memory while all are open, MiB"), kibibytes / 1024.0));
    table.push(Row::figure(&name("memory per stream, KiB"), kibibytes / count as f64));
    table.push(Row::figure(&name("time until all first tokens, s"), took.as_secs_f64()));
    Ok(())
}

/// An open stream that has received its first token.
struct Open {
    stream: EventStream,
    /// Dropping the connection would end the stream.
    _connection: Connection,
}

impl Open {
    async fn read_to_end(self) -> anyhow::Result<()> {
        require_all(self.stream, &HELD).await
    }
}

/// Opens all streams and waits for the first token of each. Returns the streams and the duration.
async fn open(
    bench: &Bench,
    bodies: impl Iterator<Item = &Bytes>,
    concurrency: usize,
) -> anyhow::Result<(Vec<Open>, Duration)> {
    let started = Instant::now();
    let (address, turns) = (bench.server.address(), Arc::new(Semaphore::new(concurrency)));
    let mut opening = JoinSet::new();
    for body in bodies.cloned() {
        let turns = Arc::clone(&turns);
        opening.spawn(async move {
            let _turn = turns.acquire().await?;
            let mut connection = Connection::open(address).await?;
            let mut stream = EventStream::new(connection.open_stream(CHAT, body).await?);
            stream.first().await?;
            anyhow::Ok(Open { stream, _connection: connection })
        });
    }
    let mut streams = Vec::new();
    while let Some(stream) = opening.join_next().await {
        streams.push(stream??);
    }
    Ok((streams, started.elapsed()))
}

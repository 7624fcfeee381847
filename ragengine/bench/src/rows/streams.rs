mod at_once;

use super::{Bench, CHAT, chat_request, index_chat_request};
use crate::nginx::{Buffering, Nginx};
use crate::statistics::median;
use crate::stream_load::StreamLoad;
use crate::table::{Comparison, Row, Table};
use crate::upstream::{Pace, Streaming};

/// Clients at once.
const CLIENTS: usize = 16;

/// A short stream, whose first event comes after its head, as a language model's does.
const SHORT: Streaming = Streaming { tokens: 3, pace: Pace::EveryMs(1) };

/// Streams that each client reads one after the other where tokens come without a pause: a turn would be too short otherwise.
const REPETITIONS: usize = 10;

/// Streamed chats, against Debian's nginx without buffering in front of the same language model.
pub async fn streams(bench: &mut Bench, table: &mut Table) -> anyhow::Result<()> {
    let (program, folder) = (&bench.parts.nginx, bench.folder.path());
    let nginx = Nginx::start(program, folder, bench.upstream.address(), Buffering::Off).await?;
    first_tokens(bench, &nginx, table).await?;
    let tokens = bench.effort.streamed_tokens;
    let apart = bench.streams(Streaming { tokens, pace: Pace::EveryMs(1) }, CLIENTS);
    processor_time(bench, &nginx, "1 ms apart", &apart, table).await?;
    let together = bench.streams(Streaming { tokens, pace: Pace::AtOnce }, CLIENTS * REPETITIONS);
    processor_time(bench, &nginx, "without a pause", &together, table).await?;
    drop(nginx);
    at_once::at_once(bench, table).await
}

async fn first_tokens(bench: &Bench, nginx: &Nginx, table: &mut Table) -> anyhow::Result<()> {
    let requests = |request: fn(&str) -> _| bench.bodies(|question| SHORT.asked_for_by(request(question)));
    let bodies = requests(chat_request);
    let ours = StreamLoad { address: bench.server.address(), path: CHAT, bodies, streaming: SHORT, clients: 1 };
    let theirs = StreamLoad { address: nginx.address(), ..ours.clone() };
    let from_index = StreamLoad { bodies: requests(index_chat_request), ..ours.clone() };
    let mut on_their_way = Comparison::default();
    let (mut of_index_on_their_way, mut of_index_in_all) = (Vec::new(), Vec::new());
    for round in 1..=bench.effort.rounds {
        eprintln!("first tokens of streams: round {round} of {}", bench.effort.rounds);
        on_their_way.push(ours.run(&[]).await?.on_its_way_ms(), theirs.run(&[]).await?.on_its_way_ms());
        let streamed = from_index.run(&[]).await?;
        of_index_on_their_way.push(streamed.on_its_way_ms());
        of_index_in_all.push(streamed.to_first_ms());
    }
    table.push(on_their_way.row("first token of a stream against nginx, from the upstream to the client, p50 ms"));
    let name = "first token of a stream from an index, from the upstream to the client, p50 ms";
    table.push(Row::figure(name, median(&of_index_on_their_way)));
    let name = "first token of a stream from an index, from the request on, p50 ms";
    table.push(Row::figure(name, median(&of_index_in_all)));
    Ok(())
}

/// Processor time of each token of long streams.
async fn processor_time(
    bench: &Bench,
    nginx: &Nginx,
    pace: &str,
    ours: &StreamLoad,
    table: &mut Table,
) -> anyhow::Result<()> {
    let (server, workers) = ([bench.server.id()], nginx.processes()?);
    let theirs = StreamLoad { address: nginx.address(), ..ours.clone() };
    let mut comparison = Comparison::default();
    for round in 1..=bench.effort.rounds {
        eprintln!("streamed tokens {pace}: round {round} of {}", bench.effort.rounds);
        let (measured, floor) = (ours.run(&server).await?, theirs.run(&workers).await?);
        comparison.push(measured.cpu_us_a_token(), floor.cpu_us_a_token());
    }
    table.push(comparison.row(&format!("streamed token against nginx, tokens {pace}, CPU µs a token")));
    Ok(())
}

impl Bench {
    /// So many streams that are passed through.
    fn streams(&self, streaming: Streaming, count: usize) -> StreamLoad {
        let bodies = self.bodies(|question| streaming.asked_for_by(chat_request(question)));
        let bodies = bodies.iter().cycle().take(count).cloned().collect();
        StreamLoad { address: self.server.address(), path: CHAT, bodies, streaming, clients: CLIENTS }
    }
}

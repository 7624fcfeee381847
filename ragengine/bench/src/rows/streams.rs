mod at_once;

use super::{Bench, CHAT, chat_request, index_chat_request};
use crate::nginx::{Buffering, Nginx};
use crate::statistics::median;
use crate::stream_load::StreamLoad;
use crate::table::{Comparison, Row, Table};
use crate::upstream::{EventPace, Streaming};

/// Number of concurrent clients.
const CLIENTS: usize = 16;

/// A short stream. As with a language model, the first event follows the head after a delay.
const SHORT: Streaming = Streaming { tokens: 3, pace: EventPace::EveryMs(1) };

/// Number of streams per client if tokens come without pauses, because a turn with one stream would be too short.
const REPETITIONS: usize = 10;

/// Compares streamed chats with Debian's nginx, without buffering, in front of the same language model.
pub async fn streams(bench: &mut Bench, table: &mut Table) -> anyhow::Result<()> {
    let (program, folder) = (&bench.parts.nginx, bench.folder.path());
    let nginx = Nginx::start(program, folder, bench.upstream.address(), Buffering::Off).await?;
    first_tokens(bench, &nginx, table).await?;
    let tokens = bench.effort.streamed_tokens;
    let apart = bench.streams(Streaming { tokens, pace: EventPace::EveryMs(1) }, CLIENTS);
    processor_time(bench, &nginx, "1 ms apart", &apart, table).await?;
    let together = bench.streams(Streaming { tokens, pace: EventPace::AtOnce }, CLIENTS * REPETITIONS);
    processor_time(bench, &nginx, "without a pause", &together, table).await?;
    drop(nginx);
    at_once::at_once(bench, table).await
}

async fn first_tokens(bench: &Bench, nginx: &Nginx, table: &mut Table) -> anyhow::Result<()> {
    let requests = |request: fn(&str) -> _| bench.bodies(|question| SHORT.add_to(request(question)));
    let bodies = requests(chat_request);
    let ours = StreamLoad { address: bench.server.address(), path: CHAT, bodies, streaming: SHORT, clients: 1 };
    let theirs = StreamLoad { address: nginx.address(), ..ours.clone() };
    let from_index = StreamLoad { bodies: requests(index_chat_request), ..ours.clone() };
    let mut in_transit = Comparison::default();
    let (mut index_in_transit, mut index_from_request) = (Vec::new(), Vec::new());
    for round in 1..=bench.effort.rounds {
        eprintln!("first tokens of streams: round {round} of {}", bench.effort.rounds);
        in_transit.push(ours.run(&[]).await?.in_transit_ms(), theirs.run(&[]).await?.in_transit_ms());
        let streamed = from_index.run(&[]).await?;
        index_in_transit.push(streamed.in_transit_ms());
        index_from_request.push(streamed.since_request_ms());
    }
    table.push(in_transit.row("first token of a stream against nginx, from the upstream to the client, p50 ms"));
    let name = "first token of a stream from an index, from the upstream to the client, p50 ms";
    table.push(Row::figure(name, median(&index_in_transit)));
    let name = "first token of a stream from an index, from the request to the client, p50 ms";
    table.push(Row::figure(name, median(&index_from_request)));
    Ok(())
}

/// Compares the processor time per token of long streams.
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
    /// A load of `count` streams that are passed through.
    fn streams(&self, streaming: Streaming, count: usize) -> StreamLoad {
        let bodies = self.bodies(|question| streaming.add_to(chat_request(question)));
        let bodies = bodies.iter().cycle().take(count).cloned().collect();
        StreamLoad { address: self.server.address(), path: CHAT, bodies, streaming, clients: CLIENTS }
    }
}

//! Streamed answers, one after the other over each of some connections.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::ensure;
use bytes::Bytes;
use tokio::task::JoinSet;

use crate::event_stream::{EventStream, First};
use crate::http::Connection;
use crate::statistics::percentile;
use crate::upstream::Streaming;
use crate::{clock, cpu};

/// Streams to ask for.
#[derive(Clone)]
pub struct StreamLoad {
    /// Of whom.
    pub address: SocketAddr,
    /// At which path.
    pub path: &'static str,
    /// One request each.
    pub bodies: Arc<[Bytes]>,
    /// What all of them ask for.
    pub streaming: Streaming,
    /// How many clients take turns.
    pub clients: usize,
}

/// What became of them.
#[derive(Debug, Clone)]
pub struct Streamed {
    firsts: Vec<Timing>,
    tokens: usize,
    cpu: Duration,
}

/// How long the first event of one stream took.
#[derive(Debug, Clone, Copy)]
struct Timing {
    /// From leaving the upstream to the client.
    on_its_way: Duration,
    /// From the request's sending to the client, without what the upstream took for it.
    in_all: Duration,
}

impl Timing {
    fn new(asked_ns: u64, first: First) -> Self {
        let First { departure, arrived_ns } = first;
        let between = |from_ns: u64, to_ns: u64| Duration::from_nanos(to_ns.saturating_sub(from_ns));
        let of_the_upstream = between(departure.asked_ns, departure.sent_ns);
        Self {
            on_its_way: between(departure.sent_ns, arrived_ns),
            in_all: between(asked_ns, arrived_ns).saturating_sub(of_the_upstream),
        }
    }
}

impl Streamed {
    /// The time that the first events took from leaving the upstream to the client, in milliseconds: the median.
    pub fn on_its_way_ms(&self) -> f64 {
        self.median_ms(|timing| timing.on_its_way)
    }

    /// The time that the first events took from the request, without what the upstream took, in milliseconds: the median.
    pub fn to_first_ms(&self) -> f64 {
        self.median_ms(|timing| timing.in_all)
    }

    /// Processor time of the watched processes for each token, in microseconds.
    pub fn cpu_us_a_token(&self) -> f64 {
        self.cpu.as_secs_f64() * 1e6 / self.tokens as f64
    }

    fn median_ms(&self, time: impl Fn(&Timing) -> Duration) -> f64 {
        percentile(&self.firsts.iter().map(|timing| time(timing).as_secs_f64() * 1e3).collect::<Vec<_>>(), 0.5)
    }
}

impl StreamLoad {
    /// Asks for all streams, and watches the processor time of some processes meanwhile.
    ///
    /// # Errors
    ///
    /// When a stream breaks, or does not have all of its events; the others are given up then.
    pub async fn run(&self, watched: &[u32]) -> anyhow::Result<Streamed> {
        let next = Arc::new(AtomicUsize::new(0));
        let mut connections = Vec::new();
        for _ in 0..self.clients {
            connections.push(Connection::open(self.address).await?);
        }
        let before = cpu::of_processes(watched)?;
        let mut clients: JoinSet<anyhow::Result<Vec<Timing>>> =
            connections.into_iter().map(|connection| client(connection, self.clone(), Arc::clone(&next))).collect();
        let mut firsts = Vec::new();
        while let Some(client) = clients.join_next().await {
            firsts.extend(client??);
        }
        let cpu = cpu::of_processes(watched)?.saturating_sub(before);
        ensure!(!firsts.is_empty(), "nothing was asked of {}", self.path);
        Ok(Streamed { tokens: firsts.len() * self.streaming.tokens, firsts, cpu })
    }
}

async fn client(mut connection: Connection, load: StreamLoad, next: Arc<AtomicUsize>) -> anyhow::Result<Vec<Timing>> {
    let mut timings = Vec::new();
    while let Some(body) = load.bodies.get(next.fetch_add(1, Ordering::Relaxed)) {
        let asked_ns = clock::monotonic_ns();
        let mut stream = EventStream::new(connection.open_stream(load.path, body.clone()).await?);
        timings.push(Timing::new(asked_ns, stream.first().await?));
        require_all(stream, &load.streaming).await?;
    }
    Ok(timings)
}

/// Reads a stream to its end.
///
/// # Errors
///
/// When it breaks, or does not have all of its events.
pub async fn require_all(stream: EventStream, streaming: &Streaming) -> anyhow::Result<()> {
    let (events, sent) = (stream.events().await?, streaming.events());
    ensure!(events == sent, "the upstream sent {sent} events, and {events} came");
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::upstream::{Pace, Upstream};

    fn load(upstream: &Upstream, streaming: Streaming) -> StreamLoad {
        let body = Bytes::from(streaming.asked_for_by(json!({})).to_string());
        StreamLoad { address: upstream.address(), path: "/", bodies: vec![body; 7].into(), streaming, clients: 3 }
    }

    #[tokio::test]
    async fn every_event_of_every_stream_is_read() {
        let upstream = Upstream::start().await.unwrap();
        for pace in [Pace::AtOnce, Pace::EveryMs(1)] {
            let streamed = load(&upstream, Streaming { tokens: 20, pace }).run(&[std::process::id()]).await.unwrap();
            assert_eq!((streamed.firsts.len(), streamed.tokens), (7, 140));
            assert!(streamed.to_first_ms() > streamed.on_its_way_ms() && streamed.on_its_way_ms() > 0.0);
        }
    }

    #[tokio::test]
    async fn held_streams_end_when_they_are_released() {
        let upstream = Upstream::start().await.unwrap();
        let load = load(&upstream, Streaming { tokens: 20, pace: Pace::Held });
        let mut connection = Connection::open(load.address).await.unwrap();
        let mut stream = EventStream::new(connection.open_stream(load.path, load.bodies[0].clone()).await.unwrap());
        stream.first().await.unwrap();
        upstream.release();
        require_all(stream, &load.streaming).await.unwrap();
    }

    #[tokio::test]
    async fn a_missing_event_is_noticed() {
        let upstream = Upstream::start().await.unwrap();
        let mut load = load(&upstream, Streaming { tokens: 20, pace: Pace::AtOnce });
        load.streaming.tokens = 21;
        assert!(load.run(&[]).await.unwrap_err().to_string().contains("22 came"));
    }
}

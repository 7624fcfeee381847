//! A load of streamed answers, sequentially on each of several connections.

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

/// Streams to request.
#[derive(Clone)]
pub struct StreamLoad {
    /// Address of the server or proxy.
    pub address: SocketAddr,
    /// Path of all requests.
    pub path: &'static str,
    /// One body per stream.
    pub bodies: Arc<[Bytes]>,
    /// Settings that all bodies request.
    pub streaming: Streaming,
    /// Number of clients, which share the streams.
    pub clients: usize,
}

/// Result of a [`StreamLoad`].
#[derive(Debug, Clone)]
pub struct StreamLoadResult {
    first_events: Vec<Timing>,
    tokens: usize,
    cpu: Duration,
}

/// Durations of the first event of a stream.
#[derive(Debug, Clone, Copy)]
struct Timing {
    /// From the upstream to the client.
    in_transit: Duration,
    /// From the request to the first event, without the time spent in the upstream.
    from_request: Duration,
}

impl Timing {
    fn new(asked_ns: u64, first: First) -> Self {
        let First { departure, arrived_ns } = first;
        let between = |from_ns: u64, to_ns: u64| Duration::from_nanos(to_ns.saturating_sub(from_ns));
        let in_upstream = between(departure.asked_ns, departure.sent_ns);
        Self {
            in_transit: between(departure.sent_ns, arrived_ns),
            from_request: between(asked_ns, arrived_ns).saturating_sub(in_upstream),
        }
    }
}

impl StreamLoadResult {
    /// Median time of first events from the upstream to the client, in milliseconds.
    pub fn in_transit_ms(&self) -> f64 {
        self.median_ms(|timing| timing.in_transit)
    }

    /// Median time from the request to the first event, without the time spent in the upstream, in milliseconds.
    pub fn since_request_ms(&self) -> f64 {
        self.median_ms(|timing| timing.from_request)
    }

    /// Processor time of the watched processes per token, in microseconds.
    pub fn cpu_us_a_token(&self) -> f64 {
        self.cpu.as_secs_f64() * 1e6 / self.tokens as f64
    }

    fn median_ms(&self, time: impl Fn(&Timing) -> Duration) -> f64 {
        percentile(&self.first_events.iter().map(|timing| time(timing).as_secs_f64() * 1e3).collect::<Vec<_>>(), 0.5)
    }
}

impl StreamLoad {
    /// Requests all streams and measures the processor time of the `watched` processes.
    ///
    /// # Errors
    ///
    /// If a stream breaks or lacks events. The other streams are cancelled.
    pub async fn run(&self, watched: &[u32]) -> anyhow::Result<StreamLoadResult> {
        let next = Arc::new(AtomicUsize::new(0));
        let mut connections = Vec::new();
        for _ in 0..self.clients {
            connections.push(Connection::open(self.address).await?);
        }
        let before = cpu::of_processes(watched)?;
        let mut clients: JoinSet<anyhow::Result<Vec<Timing>>> =
            connections.into_iter().map(|connection| client(connection, self.clone(), Arc::clone(&next))).collect();
        let mut first_events = Vec::new();
        while let Some(client) = clients.join_next().await {
            first_events.extend(client??);
        }
        let cpu = cpu::of_processes(watched)?.saturating_sub(before);
        ensure!(!first_events.is_empty(), "no request was sent to {}", self.path);
        Ok(StreamLoadResult { tokens: first_events.len() * self.streaming.tokens, first_events, cpu })
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
/// If the stream breaks or lacks events.
pub async fn require_all(stream: EventStream, streaming: &Streaming) -> anyhow::Result<()> {
    let (events, sent) = (stream.events().await?, streaming.events());
    ensure!(events == sent, "the upstream sent {sent} events, but {events} arrived");
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::upstream::{EventPace, Upstream};

    fn load(upstream: &Upstream, streaming: Streaming) -> StreamLoad {
        let body = Bytes::from(streaming.add_to(json!({})).to_string());
        StreamLoad { address: upstream.address(), path: "/", bodies: vec![body; 7].into(), streaming, clients: 3 }
    }

    #[tokio::test]
    async fn every_event_of_every_stream_is_read() {
        let upstream = Upstream::start().await.unwrap();
        for pace in [EventPace::AtOnce, EventPace::EveryMs(1)] {
            let streamed = load(&upstream, Streaming { tokens: 20, pace }).run(&[std::process::id()]).await.unwrap();
            assert_eq!((streamed.first_events.len(), streamed.tokens), (7, 140));
            assert!(streamed.since_request_ms() > streamed.in_transit_ms() && streamed.in_transit_ms() > 0.0);
        }
    }

    #[tokio::test]
    async fn held_streams_continue_after_the_release() {
        let upstream = Upstream::start().await.unwrap();
        let load = load(&upstream, Streaming { tokens: 20, pace: EventPace::Held });
        let mut connection = Connection::open(load.address).await.unwrap();
        let mut stream = EventStream::new(connection.open_stream(load.path, load.bodies[0].clone()).await.unwrap());
        stream.first().await.unwrap();
        upstream.release();
        require_all(stream, &load.streaming).await.unwrap();
    }

    #[tokio::test]
    async fn a_missing_event_is_an_error() {
        let upstream = Upstream::start().await.unwrap();
        let mut load = load(&upstream, Streaming { tokens: 20, pace: EventPace::AtOnce });
        load.streaming.tokens = 21;
        assert!(load.run(&[]).await.unwrap_err().to_string().contains("22 arrived"));
    }
}

//! Closed-loop load: each client has one connection and sends its next request after the previous reply.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::ensure;
use bytes::Bytes;
use tokio::task::JoinSet;

use crate::cpu;
use crate::http::Connection;
use crate::statistics::percentile;

/// When a load ends.
#[derive(Debug, Clone, Copy)]
pub enum Stop {
    /// After this number of requests of all clients together.
    Requests(usize),
    /// After this time. Running requests are completed.
    After(Duration),
}

/// Requests to send.
#[derive(Clone)]
pub struct Load {
    /// Address of the server or proxy.
    pub address: SocketAddr,
    /// Path of all requests.
    pub path: &'static str,
    /// Bodies, sent in turn and repeated.
    pub bodies: Arc<[Bytes]>,
    /// Number of concurrent clients.
    pub clients: usize,
    /// When the load ends.
    pub stop: Stop,
    /// The token of each request.
    pub token: Option<&'static str>,
}

/// Result of a [`Load`].
#[derive(Debug, Clone)]
pub struct LoadResult {
    /// Duration of each request, in seconds.
    seconds: Vec<f64>,
    /// Number of requests that were completed before the load ended.
    in_time: usize,
    /// Duration of the load.
    elapsed: Duration,
    /// Processor time of the watched processes.
    cpu: Duration,
}

impl LoadResult {
    /// Requests per second.
    pub fn rate(&self) -> f64 {
        self.in_time as f64 / self.elapsed.as_secs_f64()
    }

    /// Duration of each request, in seconds.
    pub fn seconds(&self) -> &[f64] {
        &self.seconds
    }

    /// Processor time of the watched processes.
    pub fn cpu(&self) -> Duration {
        self.cpu
    }

    /// Average time between two requests.
    pub fn interval(&self) -> Duration {
        self.elapsed.div_f64(self.seconds.len() as f64)
    }

    /// Processor time of the watched processes per request, in milliseconds.
    pub fn cpu_ms(&self) -> f64 {
        self.cpu.as_secs_f64() * 1e3 / self.seconds.len() as f64
    }

    /// Percentile `fraction` (0 to 1) of the durations, in milliseconds.
    pub fn latency_ms(&self, fraction: f64) -> f64 {
        percentile(&self.seconds, fraction) * 1e3
    }
}

impl Load {
    /// Sends the requests and measures the processor time of the `watched` processes.
    ///
    /// # Errors
    ///
    /// If a request fails. The other requests are cancelled.
    pub async fn run(&self, watched: &[u32]) -> anyhow::Result<LoadResult> {
        let mut connections = Vec::with_capacity(self.clients);
        for _ in 0..self.clients {
            let connection = Connection::open(self.address).await?;
            connections.push(match self.token {
                Some(token) => connection.with_token(token)?,
                None => connection,
            });
        }
        let cpu_before = cpu::of_processes(watched)?;
        let started = Instant::now();
        let next = Arc::new(AtomicUsize::new(0));
        let mut clients: JoinSet<anyhow::Result<Vec<Request>>> = connections
            .into_iter()
            .map(|connection| client(connection, self.clone(), Arc::clone(&next), started))
            .collect();
        let mut requests = Vec::new();
        while let Some(client) = clients.join_next().await {
            requests.extend(client??);
        }
        ensure!(!requests.is_empty(), "no request was sent to {}", self.path);
        let elapsed = match self.stop {
            Stop::Requests(_) => started.elapsed(),
            Stop::After(time) => time,
        };
        let cpu = cpu::of_processes(watched)?.saturating_sub(cpu_before);
        let in_time = requests.iter().filter(|request| request.finished <= elapsed).count();
        let seconds = requests.iter().map(|request| request.took.as_secs_f64()).collect();
        Ok(LoadResult { seconds, in_time, elapsed, cpu })
    }

    fn is_over(&self, number: usize, started: Instant) -> bool {
        match self.stop {
            Stop::Requests(requests) => number >= requests,
            Stop::After(time) => started.elapsed() >= time,
        }
    }
}

struct Request {
    took: Duration,
    /// Time since the start of the load.
    finished: Duration,
}

async fn client(
    mut connection: Connection,
    load: Load,
    next: Arc<AtomicUsize>,
    started: Instant,
) -> anyhow::Result<Vec<Request>> {
    let mut requests = Vec::new();
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if load.is_over(number, started) {
            return Ok(requests);
        }
        let sent = Instant::now();
        connection.post(load.path, load.bodies[number % load.bodies.len()].clone()).await?;
        requests.push(Request { took: sent.elapsed(), finished: started.elapsed() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::upstream::Upstream;

    #[tokio::test]
    async fn a_load_ends_after_its_requests_or_its_time() {
        let upstream = Upstream::start().await.unwrap();
        let bodies = Arc::from([Bytes::from_static(b"{}"), Bytes::from_static(b"[]")]);
        let load =
            Load { address: upstream.address(), path: "/", bodies, clients: 3, stop: Stop::Requests(50), token: None };
        let result = load.run(&[std::process::id()]).await.unwrap();
        assert_eq!((result.seconds.len(), result.in_time), (50, 50));
        assert!(result.rate() > 0.0 && result.latency_ms(0.5) <= result.latency_ms(1.0));
        let timed = Load { stop: Stop::After(Duration::from_millis(50)), ..load };
        assert!(timed.run(&[]).await.unwrap().in_time > 0);
    }
}

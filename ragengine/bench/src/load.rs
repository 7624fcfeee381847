//! Closed loops of requests: every client has one connection, and sends its next request when it has the reply to the last.

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
    /// After so many requests of all clients together.
    Requests(usize),
    /// After this time; requests that run are finished.
    After(Duration),
}

/// Requests to send.
#[derive(Clone)]
pub struct Load {
    /// To whom.
    pub address: SocketAddr,
    /// To which path.
    pub path: &'static str,
    /// The bodies, which are sent in turn, again and again.
    pub bodies: Arc<[Bytes]>,
    /// How many clients.
    pub clients: usize,
    /// When it ends.
    pub stop: Stop,
}

/// What became of a load.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// Seconds that each request took.
    seconds: Vec<f64>,
    /// Requests that were finished when it was over.
    in_time: usize,
    /// How long it lasted.
    elapsed: Duration,
    /// Processor time of the processes that were watched.
    cpu: Duration,
}

impl Outcome {
    /// Requests a second.
    pub fn rate(&self) -> f64 {
        self.in_time as f64 / self.elapsed.as_secs_f64()
    }

    /// Seconds that each request took.
    pub fn seconds(&self) -> &[f64] {
        &self.seconds
    }

    /// Processor time of the watched processes.
    pub fn cpu(&self) -> Duration {
        self.cpu
    }

    /// The time from one request to the next.
    pub fn interval(&self) -> Duration {
        self.elapsed.div_f64(self.seconds.len() as f64)
    }

    /// The same in milliseconds for each request.
    pub fn cpu_ms(&self) -> f64 {
        self.cpu.as_secs_f64() * 1e3 / self.seconds.len() as f64
    }

    /// The time that a part (0 to 1) of the requests did not exceed, in milliseconds.
    pub fn latency_ms(&self, fraction: f64) -> f64 {
        percentile(&self.seconds, fraction) * 1e3
    }
}

impl Load {
    /// Sends the requests, and watches the processor time of some processes meanwhile.
    ///
    /// # Errors
    ///
    /// When a request fails; the others are given up then.
    pub async fn run(&self, watched: &[u32]) -> anyhow::Result<Outcome> {
        let mut connections = Vec::with_capacity(self.clients);
        for _ in 0..self.clients {
            connections.push(Connection::open(self.address).await?);
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
        ensure!(!requests.is_empty(), "nothing was sent to {}", self.path);
        let elapsed = match self.stop {
            Stop::Requests(_) => started.elapsed(),
            Stop::After(time) => time,
        };
        let cpu = cpu::of_processes(watched)?.saturating_sub(cpu_before);
        let in_time = requests.iter().filter(|request| request.finished <= elapsed).count();
        let seconds = requests.iter().map(|request| request.took.as_secs_f64()).collect();
        Ok(Outcome { seconds, in_time, elapsed, cpu })
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
    /// Since the beginning of the load.
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
    async fn a_load_sends_what_it_was_told_to() {
        let upstream = Upstream::start().await.unwrap();
        let bodies = Arc::from([Bytes::from_static(b"{}"), Bytes::from_static(b"[]")]);
        let load = Load { address: upstream.address(), path: "/", bodies, clients: 3, stop: Stop::Requests(50) };
        let outcome = load.run(&[std::process::id()]).await.unwrap();
        assert_eq!((outcome.seconds.len(), outcome.in_time), (50, 50));
        assert!(outcome.rate() > 0.0 && outcome.latency_ms(0.5) <= outcome.latency_ms(1.0));
        let timed = Load { stop: Stop::After(Duration::from_millis(50)), ..load };
        assert!(timed.run(&[]).await.unwrap().in_time > 0);
    }
}

//! Bodies as files: what reads or writes them runs apart from the threads that serve requests, and waits for the network there.

use std::io::{self, ErrorKind, Read, Write};
use std::time::Duration;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use futures_util::stream;
use http_body_util::BodyExt as _;
use tokio::sync::mpsc;
use tokio::time::Instant;

/// What goes out at once.
const CHUNK_BYTES: usize = 64 << 10;

/// Chunks that wait for the network, or for who reads them.
const WAITING_CHUNKS: usize = 4;

/// What of a body has to arrive within its timeout: a byte now and then would keep one of the few turns for as long as its sender likes.
const LEAST_BYTES: usize = 64 << 10;

/// How long a body goes on being read that nobody wants any more: who is still sending would find the connection broken, and not read why.
const DISCARD_TIMEOUT: Duration = Duration::from_secs(10);

/// A body of a reply that is written to. Dropped before it is finished, the connection breaks off: nobody takes a part for the whole.
pub struct BodyWriter {
    chunks: mpsc::Sender<Part>,
    buffer: BytesMut,
    sent_bytes: u64,
}

enum Part {
    Chunk(Bytes),
    End,
}

impl BodyWriter {
    /// A writer, and the body. A client that takes nothing is cut off by its connection, which ends the body.
    pub fn new() -> (Self, Body) {
        let (chunks, parts) = mpsc::channel(WAITING_CHUNKS);
        let buffer = BytesMut::with_capacity(CHUNK_BYTES);
        let body = stream::unfold(Some(parts), |parts| async {
            let mut parts = parts?;
            match parts.recv().await {
                Some(Part::Chunk(chunk)) => Some((Ok(chunk), Some(parts))),
                Some(Part::End) => None,
                None => Some((Err(io::Error::other("what writes the body has ended before its end")), None)),
            }
        });
        (Self { chunks, buffer, sent_bytes: 0 }, Body::from_stream(body))
    }

    /// Sends what has not been sent, and ends the body. Returns how many bytes it had.
    ///
    /// # Errors
    ///
    /// When the client does not take it.
    pub fn finish(mut self) -> io::Result<u64> {
        self.flush()?;
        self.send(Part::End)?;
        Ok(self.sent_bytes)
    }

    fn send(&self, part: Part) -> io::Result<()> {
        let left = || io::Error::new(ErrorKind::BrokenPipe, "the client left, or took nothing for too long");
        self.chunks.blocking_send(part).map_err(|_| left())
    }
}

impl Write for BodyWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(CHUNK_BYTES - self.buffer.len());
        self.buffer.extend_from_slice(&bytes[..taken]);
        if self.buffer.len() == CHUNK_BYTES {
            self.flush()?;
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let chunk = std::mem::replace(&mut self.buffer, BytesMut::with_capacity(CHUNK_BYTES)).freeze();
        self.sent_bytes += chunk.len() as u64;
        self.send(Part::Chunk(chunk))
    }
}

/// A body of a request that is read from. Dropped before its end, the rest is read for a while and thrown away.
pub struct BodyReader {
    parts: mpsc::Receiver<io::Result<Option<Bytes>>>,
    rest: Bytes,
    is_at_end: bool,
}

impl BodyReader {
    /// A reader. A client of which less than 64 KiB arrive while they are waited for as long as `timeout` is given up.
    pub fn new(body: Body, timeout: Duration) -> Self {
        let (parts, received) = mpsc::channel(WAITING_CHUNKS);
        tokio::spawn(receive(body, timeout, parts));
        Self { parts: received, rest: Bytes::new(), is_at_end: false }
    }
}

/// Hands on what arrives, up to the end or an error, or until nobody wants it.
async fn receive(mut body: Body, timeout: Duration, parts: mpsc::Sender<io::Result<Option<Bytes>>>) {
    let mut pace = Pace { timeout, waited: Duration::ZERO, arrived_bytes: 0 };
    loop {
        let part = tokio::select! {
            biased;
            () = parts.closed() => break,
            part = pace.next_part(&mut body) => part,
        };
        let is_last = !matches!(part, Ok(Some(_)));
        if parts.send(part).await.is_err() || is_last {
            break;
        }
    }
    let discard = async { while let Some(Ok(_)) = body.frame().await {} };
    // What is left after that time is cut off with the connection.
    drop(tokio::time::timeout(DISCARD_TIMEOUT, discard).await);
}

/// How fast a body comes. Only the time counts in which the client is waited for, not that of a disk.
struct Pace {
    timeout: Duration,
    waited: Duration,
    arrived_bytes: usize,
}

impl Pace {
    /// The next part, or None at the end.
    async fn next_part(&mut self, body: &mut Body) -> io::Result<Option<Bytes>> {
        let begun = Instant::now();
        let frame = tokio::time::timeout(self.timeout.saturating_sub(self.waited), body.frame()).await;
        let Some(frame) = frame.map_err(|_| self.too_slow())? else { return Ok(None) };
        // Trailers have no data.
        let part = frame.map_err(|_| broke_off())?.into_data().unwrap_or_default();
        self.waited += begun.elapsed();
        self.arrived_bytes += part.len();
        if self.arrived_bytes >= LEAST_BYTES {
            (self.waited, self.arrived_bytes) = (Duration::ZERO, 0);
        }
        Ok(Some(part))
    }

    fn too_slow(&self) -> io::Error {
        let (least_kib, seconds) = (LEAST_BYTES >> 10, self.timeout.as_secs());
        let words = format!("less than {least_kib} KiB of the request body arrived within {seconds} s");
        io::Error::new(ErrorKind::TimedOut, format!("{words} (limits.bodyTimeoutSeconds)"))
    }
}

fn broke_off() -> io::Error {
    io::Error::new(ErrorKind::ConnectionAborted, "the request body broke off")
}

impl Read for BodyReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.rest.is_empty() && !self.is_at_end {
            // Nobody sends any more, and it was not the end: the server stops.
            match self.parts.blocking_recv().unwrap_or_else(|| Err(broke_off()))? {
                Some(chunk) => self.rest = chunk,
                None => self.is_at_end = true,
            }
        }
        let taken = buffer.len().min(self.rest.len());
        buffer[..taken].copy_from_slice(&self.rest.split_to(taken));
        Ok(taken)
    }
}

#[cfg(test)]
mod tests;

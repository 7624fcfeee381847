//! Bodies as blocking readers and writers, for threads of the blocking pool.

use std::io::{self, ErrorKind, Read, Write};
use std::time::Duration;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use futures_util::stream;
use http_body_util::BodyExt as _;
use tokio::sync::mpsc;
use tokio::time::Instant;

/// Size of the chunks of a reply's body.
const CHUNK_BYTES: usize = 64 << 10;

/// Most chunks that are buffered between the network and the reader or writer.
const WAITING_CHUNKS: usize = 4;

/// Least number of bytes that must arrive within the timeout. A slower client would block one of the few transfers.
const LEAST_BYTES: usize = 64 << 10;

/// How long the rest of a refused body is read. If it were not read, the client might not see the error reply.
const DISCARD_TIMEOUT: Duration = Duration::from_secs(10);

/// Writes the body of a reply. If it is dropped before [`Self::finish`], the connection is cut, so that the client sees
/// that the body is incomplete.
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
    /// Returns a writer and its body. The connection disconnects a client that reads nothing, which drops the body.
    pub fn new() -> (Self, Body) {
        let (chunks, parts) = mpsc::channel(WAITING_CHUNKS);
        let buffer = BytesMut::with_capacity(CHUNK_BYTES);
        let body = stream::unfold(Some(parts), |parts| async {
            let mut parts = parts?;
            match parts.recv().await {
                Some(Part::Chunk(chunk)) => Some((Ok(chunk), Some(parts))),
                Some(Part::End) => None,
                None => Some((Err(io::Error::other("the body was not written to its end")), None)),
            }
        });
        (Self { chunks, buffer, sent_bytes: 0 }, Body::from_stream(body))
    }

    /// Ends when nobody reads the body any more. It holds the body open, so it is dropped before the writer finishes.
    pub fn reader_left(&self) -> impl Future<Output = ()> + use<> {
        let chunks = self.chunks.clone();
        async move { chunks.closed().await }
    }

    /// Sends the rest and ends the body. Returns its length in bytes.
    ///
    /// # Errors
    ///
    /// When the client has disconnected or reads nothing.
    pub fn finish(mut self) -> io::Result<u64> {
        self.flush()?;
        self.send(Part::End)?;
        Ok(self.sent_bytes)
    }

    fn send(&self, part: Part) -> io::Result<()> {
        let left = || io::Error::new(ErrorKind::BrokenPipe, "the client disconnected, or read nothing for too long");
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

/// Reads the body of a request. If it is dropped before the end, the rest is discarded for up to 10 seconds.
pub struct BodyReader {
    parts: mpsc::Receiver<io::Result<Option<Bytes>>>,
    rest: Bytes,
    is_at_end: bool,
}

impl BodyReader {
    /// Reading fails when less than 64 KiB arrive within `timeout`. Time in which nothing is read does not count.
    pub fn new(body: Body, timeout: Duration) -> Self {
        let (parts, received) = mpsc::channel(WAITING_CHUNKS);
        tokio::spawn(receive(body, timeout, parts));
        Self { parts: received, rest: Bytes::new(), is_at_end: false }
    }
}

/// Passes parts on until the end, an error, or the drop of the receiver.
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
    // After the timeout, the body is dropped, which closes the connection.
    drop(tokio::time::timeout(DISCARD_TIMEOUT, discard).await);
}

/// Enforces the minimum rate of a body. Only time spent waiting for the client counts, not time of the disk.
struct Pace {
    timeout: Duration,
    waited: Duration,
    arrived_bytes: usize,
}

impl Pace {
    /// Returns the next part, or `None` at the end.
    async fn next_part(&mut self, body: &mut Body) -> io::Result<Option<Bytes>> {
        let begun = Instant::now();
        let frame = tokio::time::timeout(self.timeout.saturating_sub(self.waited), body.frame()).await;
        let Some(frame) = frame.map_err(|_| self.too_slow())? else { return Ok(None) };
        // Trailers have no data.
        let part = frame.map_err(|_| cut_off())?.into_data().unwrap_or_default();
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

fn cut_off() -> io::Error {
    io::Error::new(ErrorKind::ConnectionAborted, "the request body was cut off")
}

impl Read for BodyReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.rest.is_empty() && !self.is_at_end {
            // The sender was dropped before the end: the server is shutting down.
            match self.parts.blocking_recv().unwrap_or_else(|| Err(cut_off()))? {
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

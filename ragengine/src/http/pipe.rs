//! Bodies as files: what reads or writes them runs apart from the threads that serve requests, and waits for the network there.

use std::io::{self, ErrorKind, Read, Write};
use std::time::Duration;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use futures_util::stream;
use http_body_util::BodyExt as _;
use tokio::runtime::Handle;
use tokio::sync::mpsc;

/// What goes out at once.
const CHUNK_BYTES: usize = 64 << 10;

/// Chunks that wait for the network.
const WAITING_CHUNKS: usize = 4;

/// A body of a reply that is written to. Dropped before it is finished, the connection breaks off: nobody takes a part for the whole.
pub struct BodyWriter {
    chunks: mpsc::Sender<Part>,
    buffer: BytesMut,
    timeout: Duration,
    runtime: Handle,
    sent_bytes: u64,
}

enum Part {
    Chunk(Bytes),
    End,
}

impl BodyWriter {
    /// A writer, and the body. A client that takes nothing for as long as `timeout` is given up.
    pub fn new(timeout: Duration) -> (Self, Body) {
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
        (Self { chunks, buffer, timeout, runtime: Handle::current(), sent_bytes: 0 }, Body::from_stream(body))
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
        let seconds = self.timeout.as_secs();
        match self.runtime.block_on(async { tokio::time::timeout(self.timeout, self.chunks.send(part)).await }) {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(io::Error::new(ErrorKind::BrokenPipe, "the client left")),
            Err(_) => Err(io::Error::new(ErrorKind::TimedOut, format!("the client took nothing for {seconds} s"))),
        }
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

/// A body of a request that is read from.
pub struct BodyReader {
    body: Body,
    rest: Bytes,
    timeout: Duration,
    runtime: Handle,
}

impl BodyReader {
    /// A reader. A client that sends nothing for as long as `timeout` is given up.
    pub fn new(body: Body, timeout: Duration) -> Self {
        Self { body, rest: Bytes::new(), timeout, runtime: Handle::current() }
    }

    /// Reads what nobody wants, for a bounded time.
    pub async fn discard(mut self, at_most: Duration) {
        let reading = async { while let Some(Ok(_)) = self.body.frame().await {} };
        // What is left after that time is cut off with the connection.
        drop(tokio::time::timeout(at_most, reading).await);
    }

    fn next(&mut self) -> io::Result<Option<Bytes>> {
        let seconds = self.timeout.as_secs();
        let (body, timeout) = (&mut self.body, self.timeout);
        match self.runtime.block_on(async { tokio::time::timeout(timeout, body.frame()).await }) {
            Ok(None) => Ok(None),
            // Trailers have no data.
            Ok(Some(Ok(frame))) => Ok(Some(frame.into_data().unwrap_or_default())),
            Ok(Some(Err(_))) => Err(io::Error::new(ErrorKind::ConnectionAborted, "the request body broke off")),
            Err(_) => {
                Err(io::Error::new(ErrorKind::TimedOut, format!("nothing of the request body arrived for {seconds} s")))
            }
        }
    }
}

impl Read for BodyReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.rest.is_empty() {
            match self.next()? {
                Some(chunk) => self.rest = chunk,
                None => return Ok(0),
            }
        }
        let taken = buffer.len().min(self.rest.len());
        buffer[..taken].copy_from_slice(&self.rest.split_to(taken));
        Ok(taken)
    }
}

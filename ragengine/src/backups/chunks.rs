use std::io::{self, Read};

use bytes::{Buf as _, Bytes};
use tokio::sync::mpsc;

/// The number of chunks that wait for the reader.
const WAITING_CHUNKS: usize = 8;

/// Reads the chunks that a task sends, in a thread that may block. The end of the sender is the end of the data.
#[derive(Debug)]
pub struct ChunkReader {
    chunks: mpsc::Receiver<io::Result<Bytes>>,
    chunk: Bytes,
}

impl ChunkReader {
    /// Returns the sender of the chunks, and their reader.
    pub fn new() -> (mpsc::Sender<io::Result<Bytes>>, Self) {
        let (sender, chunks) = mpsc::channel(WAITING_CHUNKS);
        (sender, Self { chunks, chunk: Bytes::new() })
    }
}

impl Read for ChunkReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.chunk.is_empty() {
            match self.chunks.blocking_recv() {
                Some(chunk) => self.chunk = chunk?,
                None => return Ok(0),
            }
        }
        let taken = buffer.len().min(self.chunk.len());
        self.chunk.copy_to_slice(&mut buffer[..taken]);
        Ok(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn chunks_are_read_in_order_until_the_end_or_an_error() {
        for (last, expected) in [(Ok(Bytes::from_static(b"d")), Ok("abcd")), (Err(io::Error::other("cut")), Err("cut"))]
        {
            let (sender, mut reader) = ChunkReader::new();
            for chunk in [Ok(Bytes::from_static(b"ab")), Ok(Bytes::new()), Ok(Bytes::from_static(b"c")), last] {
                sender.send(chunk).await.unwrap();
            }
            drop(sender);
            let read = tokio::task::spawn_blocking(move || {
                let mut text = String::new();
                reader.read_to_string(&mut text).map(|_| text).map_err(|error| error.to_string())
            });
            assert_eq!(read.await.unwrap().as_deref().map_err(String::as_str), expected);
        }
    }
}

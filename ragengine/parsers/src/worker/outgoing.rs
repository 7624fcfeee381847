use tokio::fs::File;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::task::spawn_blocking;

use crate::input::{check_size, open_file};
use crate::{Content, Limits, ParseError};

/// A file is sent in pieces of this many bytes, so that the parent never holds all of it in memory.
const PIECE_BYTES: usize = 64 << 10;

/// The content of a file to send to a worker, which cannot open files.
pub(super) struct Outgoing<'a> {
    bytes: usize,
    content: Box<dyn AsyncBufRead + Send + Unpin + 'a>,
}

/// Why sending failed.
#[derive(Debug)]
pub(super) enum SendError {
    /// The worker no longer reads.
    Worker,
    /// The file cannot be read.
    File(ParseError),
}

impl<'a> Outgoing<'a> {
    /// Opens the content.
    ///
    /// # Errors
    ///
    /// It is not a regular file, cannot be opened, or is larger than allowed.
    pub(super) async fn open(content: &'a Content, limits: &Limits) -> Result<Self, ParseError> {
        match content {
            Content::Bytes(bytes) => {
                check_size(bytes.len() as u64, limits)?;
                Ok(Self { bytes: bytes.len(), content: Box::new(bytes.as_slice()) })
            }
            Content::File(path) => {
                let (path, limits) = (path.clone(), *limits);
                let opened = spawn_blocking(move || open_file(&path, &limits)).await;
                let (file, bytes) = opened.map_err(|error| ParseError::Failed(error.to_string()))??;
                let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
                Ok(Self { bytes, content: Box::new(BufReader::with_capacity(PIECE_BYTES, File::from_std(file))) })
            }
        }
    }

    /// Number of bytes to send: the size when the file was opened.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Sends the content.
    ///
    /// # Errors
    ///
    /// The file can no longer be read, or the worker no longer reads.
    pub(super) async fn send(mut self, worker: &mut (impl AsyncWrite + Unpin)) -> Result<(), SendError> {
        let mut left = self.bytes;
        while left > 0 {
            let piece = self.content.fill_buf().await.map_err(|error| SendError::File(error.into()))?;
            if piece.is_empty() {
                let reason = "it became shorter while it was read".to_owned();
                return Err(SendError::File(ParseError::Unreadable(reason)));
            }
            let count = piece.len().min(left);
            worker.write_all(&piece[..count]).await.map_err(|_| SendError::Worker)?;
            self.content.consume(count);
            left -= count;
        }
        worker.flush().await.map_err(|_| SendError::Worker)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// Sends a file that is modified after it was opened, and returns the sent bytes.
    async fn sent(happens: impl Fn(&std::fs::File)) -> Result<Vec<u8>, SendError> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&[7; 3 * PIECE_BYTES]).unwrap();
        let content = Content::File(file.path().to_owned());
        let outgoing = Outgoing::open(&content, &Limits::default()).await.unwrap();
        assert_eq!(outgoing.bytes(), 3 * PIECE_BYTES);
        happens(file.as_file());
        let mut received = Vec::new();
        outgoing.send(&mut received).await.map(|()| received)
    }

    #[tokio::test]
    async fn a_growing_file_is_sent_up_to_its_initial_size() {
        assert_eq!(sent(|_| ()).await.unwrap(), [7; 3 * PIECE_BYTES]);
        assert_eq!(sent(|mut file| file.write_all(b"more").unwrap()).await.unwrap(), [7; 3 * PIECE_BYTES]);
    }

    #[tokio::test]
    async fn a_file_that_becomes_shorter_is_an_error() {
        let Err(SendError::File(error)) = sent(|file| file.set_len(9).unwrap()).await else { panic!("it was sent") };
        assert_eq!(error.to_string(), "it cannot be read: it became shorter while it was read");
    }

    #[tokio::test]
    async fn content_over_the_limit_is_refused() {
        let limits = Limits { max_file_bytes: 3, ..Limits::default() };
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(4).unwrap();
        for content in [Content::Bytes(vec![0; 4]), Content::File(file.path().to_owned())] {
            let error = Outgoing::open(&content, &limits).await.map(|outgoing| outgoing.bytes()).unwrap_err();
            assert_eq!(error, ParseError::FileTooLarge { max_bytes: 3 });
        }
    }
}

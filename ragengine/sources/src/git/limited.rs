use std::io::{BufRead, Error, ErrorKind, Read, Result};
use std::time::Instant;

/// A stream that fails after a number of bytes, or at a deadline.
pub struct Limited<'a> {
    inner: &'a mut dyn BufRead,
    left_bytes: u64,
    deadline: Instant,
}

impl<'a> Limited<'a> {
    /// Limits a stream to `max_bytes`, and to reads before the deadline.
    pub fn new(inner: &'a mut dyn BufRead, max_bytes: u64, deadline: Instant) -> Self {
        Self { inner, left_bytes: max_bytes, deadline }
    }
}

impl Read for Limited<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let available = self.fill_buf()?;
        let length = available.len().min(buffer.len());
        buffer[..length].copy_from_slice(&available[..length]);
        self.consume(length);
        Ok(length)
    }
}

impl BufRead for Limited<'_> {
    fn fill_buf(&mut self) -> Result<&[u8]> {
        if Instant::now() > self.deadline {
            return Err(ErrorKind::TimedOut.into());
        }
        let available = self.inner.fill_buf()?;
        if available.len() as u64 > self.left_bytes {
            return Err(Error::from(ErrorKind::FileTooLarge));
        }
        Ok(available)
    }

    fn consume(&mut self, length: usize) {
        self.left_bytes = self.left_bytes.saturating_sub(length as u64);
        self.inner.consume(length);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_stream_ends_at_its_limits() {
        let soon = Instant::now() + Duration::from_secs(60);
        let cases = [
            (5, soon, Ok(5)),
            (4, soon, Err(ErrorKind::FileTooLarge)),
            (5, soon - Duration::from_secs(61), Err(ErrorKind::TimedOut)),
        ];
        for (max_bytes, deadline, expected) in cases {
            let mut content = &b"abcde"[..];
            let mut found = Vec::new();
            let read = Limited::new(&mut content, max_bytes, deadline).read_to_end(&mut found);
            assert_eq!(read.map_err(|error| error.kind()), expected);
        }
    }
}

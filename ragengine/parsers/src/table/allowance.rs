use std::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;

/// A reader that fails after a number of bytes, until its allowance is renewed.
pub(super) struct Allowance<R> {
    reader: R,
    bytes: Rc<Cell<usize>>,
}

/// Renews the allowance of a reader.
pub(super) struct Renewal(Rc<Cell<usize>>);

impl<R: Read> Allowance<R> {
    pub(super) fn new(reader: R) -> (Self, Renewal) {
        let bytes = Rc::new(Cell::new(0));
        (Self { reader, bytes: Rc::clone(&bytes) }, Renewal(bytes))
    }
}

impl Renewal {
    pub(super) fn renew(&self, bytes: usize) {
        self.0.set(bytes);
    }
}

impl<R: Read> Read for Allowance<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let allowed = self.bytes.get().min(buffer.len());
        if allowed == 0 && !buffer.is_empty() {
            return Err(io::Error::other("a row is too long: a quotation mark may not be closed"));
        }
        let count = self.reader.read(&mut buffer[..allowed])?;
        self.bytes.set(self.bytes.get() - count);
        Ok(count)
    }
}

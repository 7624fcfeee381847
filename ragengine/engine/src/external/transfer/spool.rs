use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek as _, SeekFrom, Write};

use ragengine_index::archive::{ArchiveError, Row};

/// Rows of an index in a file without a name. The header of an index, with its numbers of documents and chunks, comes
/// first in an archive; how many there are is known only when all have been read.
pub struct Spool {
    file: BufWriter<File>,
    rows: u64,
}

impl Spool {
    /// An empty file in the folder for temporary files.
    ///
    /// # Errors
    ///
    /// If it cannot be made.
    pub fn new() -> Result<Self, ArchiveError> {
        let file = tempfile::tempfile().map_err(ArchiveError::Write)?;
        Ok(Self { file: BufWriter::with_capacity(1 << 18, file), rows: 0 })
    }

    /// Adds a row.
    ///
    /// # Errors
    ///
    /// If the disk is full.
    pub fn put(&mut self, row: &Row) -> Result<(), ArchiveError> {
        let bytes = postcard::to_stdvec(row).map_err(|error| ArchiveError::Write(io::Error::other(error)))?;
        let length = (bytes.len() as u64).to_le_bytes();
        self.rows += 1;
        self.file.write_all(&length).and_then(|()| self.file.write_all(&bytes)).map_err(ArchiveError::Write)
    }

    /// Passes all rows to `take`, in order.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or the error of `take`.
    pub fn each<E: From<ArchiveError>>(self, mut take: impl FnMut(Row) -> Result<(), E>) -> Result<(), E> {
        let mut file = self.file.into_inner().map_err(|error| ArchiveError::Write(error.into_error()))?;
        file.seek(SeekFrom::Start(0)).map_err(ArchiveError::Write)?;
        let (mut file, mut length, mut bytes) = (BufReader::with_capacity(1 << 18, file), [0; 8], Vec::new());
        for _ in 0..self.rows {
            file.read_exact(&mut length).map_err(ArchiveError::Write)?;
            bytes.resize(usize::try_from(u64::from_le_bytes(length)).unwrap_or(usize::MAX), 0);
            file.read_exact(&mut bytes).map_err(ArchiveError::Write)?;
            take(postcard::from_bytes(&bytes).map_err(|error| ArchiveError::Write(io::Error::other(error)))?)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back_in_order() {
        let row = |number: usize| Row::Sync { source: format!("s{number}"), json: "x".repeat(number) };
        let mut spool = Spool::new().unwrap();
        let rows: Vec<Row> = (0..300).map(row).collect();
        rows.iter().for_each(|row| spool.put(row).unwrap());
        let mut read = Vec::new();
        let keep = |row| {
            read.push(row);
            Ok::<_, ArchiveError>(())
        };
        spool.each(keep).unwrap();
        assert_eq!(read, rows);
    }
}

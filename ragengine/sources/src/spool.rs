use std::io::{Error, ErrorKind, Result, Write};
use std::path::Path;

use sha2::{Digest, Sha256};
use tempfile::{NamedTempFile, TempPath};

use crate::FetchError;

/// A temporary file that is being written, with a maximum size. It computes the hash of the content.
#[derive(Debug)]
pub struct Spool {
    file: NamedTempFile,
    hasher: Sha256,
    size_bytes: u64,
    max_bytes: u64,
}

/// A complete temporary file.
#[derive(Debug)]
pub struct Spooled {
    /// The path. The file is deleted when this is dropped.
    pub path: TempPath,
    /// The revision: the hash of the content.
    pub revision: String,
}

impl Spool {
    /// Creates an empty file in the work folder.
    pub fn new(work_folder: &Path, max_bytes: u64) -> Result<Self> {
        let file = tempfile::Builder::new().prefix("file-").tempfile_in(work_folder)?;
        Ok(Self { file, hasher: Sha256::new(), size_bytes: 0, max_bytes })
    }

    /// The finished file.
    pub fn finish(self) -> Spooled {
        Spooled { path: self.file.into_temp_path(), revision: revision_of(self.hasher) }
    }

    /// Converts an error of writing: the limit is [`FetchError::TooLarge`].
    pub fn explain(error: Error, max_bytes: u64) -> FetchError {
        if error.kind() == ErrorKind::FileTooLarge { FetchError::TooLarge { max_bytes } } else { FetchError::Io(error) }
    }
}

impl Write for Spool {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        if self.size_bytes + bytes.len() as u64 > self.max_bytes {
            return Err(ErrorKind::FileTooLarge.into());
        }
        let written = self.file.write(bytes)?;
        self.hasher.update(&bytes[..written]);
        self.size_bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> Result<()> {
        self.file.flush()
    }
}

/// The revision for a hash of the content.
pub fn revision_of(hasher: Sha256) -> String {
    format!("sha256:{}", hex::encode(hasher.finalize()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_a_maximum_size_and_is_deleted() {
        let folder = tempfile::tempdir().unwrap();
        let mut spool = Spool::new(folder.path(), 6).unwrap();
        spool.write_all(b"abc").unwrap();
        spool.write_all(b"def").unwrap();
        let error = spool.write_all(b"g").unwrap_err();
        assert_eq!(Spool::explain(error, 6).kind(), "too_large");
        let spooled = spool.finish();
        assert_eq!(std::fs::read(&spooled.path).unwrap(), b"abcdef");
        // printf abcdef | sha256sum
        assert_eq!(spooled.revision, "sha256:bef57ec7f53a6d40beb640a780a639c83bc29ac8a9816f1fc6c5c6dcd93c4721");
        drop(spooled);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

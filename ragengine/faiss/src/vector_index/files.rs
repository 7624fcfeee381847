//! Reads and writes an index's file: FAISS' format, followed by a checksum.

use std::fs::File;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use faiss::index::Index;
use faiss::index::io::{read_index, write_index};

use super::VectorIndex;
use crate::error::Error;
use crate::ffi;
use crate::kind::Kind;
use crate::seal::{self, SealError};

impl VectorIndex {
    /// The number of bytes that [`write`](Self::write) writes.
    ///
    /// # Errors
    ///
    /// [`Error::Faiss`].
    pub fn file_bytes(&self) -> Result<u64, Error> {
        Ok(ffi::serialized_bytes(&self.index)? + seal::SEAL_BYTES as u64)
    }

    /// Writes the index to a file and syncs it to disk. The file has FAISS' format, which FAISS can read, followed by a
    /// checksum.
    ///
    /// The file is written in place. To be safe against interruptions, write to a temporary name and rename it.
    /// [`read`](Self::read) refuses an incomplete file.
    ///
    /// # Errors
    ///
    /// [`Error::Faiss`], [`Error::Io`], and [`Error::File`] when the file is incomplete.
    pub fn write(&self, path: &Path) -> Result<(), Error> {
        self.check_not_half_changed()?;
        let bytes = ffi::serialized_bytes(&self.index)?;
        // FAISS would create a file that others can read. An existing file keeps its mode.
        let file = File::options().write(true).create(true).truncate(true).mode(0o600).open(path);
        file.map_err(|source| Error::Io { path: path.to_owned(), source })?;
        write_index(&self.index, utf8(path)?)?;
        seal::seal(path, bytes).map_err(|error| seal_error(path, error))
    }

    /// Reads a file that [`write`](Self::write) wrote.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] when the file does not exist, [`Error::File`] when it is truncated, damaged or not an index,
    /// [`Error::OtherIndex`] when it has another kind or other dimensions.
    pub fn read(path: &Path, kind: Kind, dimensions: usize) -> Result<Self, Error> {
        seal::check(path).map_err(|error| seal_error(path, error))?;
        let index = read_index(utf8(path)?).map_err(|error| unusable(path, error.to_string()))?;
        let found_kind = ffi::kind_of(&index).map_err(|reason| unusable(path, reason))?;
        let found_dimensions = index.d() as usize;
        if (found_kind, found_dimensions) != (kind, dimensions) {
            return Err(Error::OtherIndex { path: path.to_owned(), kind, dimensions, found_kind, found_dimensions });
        }
        Ok(Self { index, kind, dimensions, is_half_changed: false })
    }
}

/// FAISS' functions require a UTF-8 path.
fn utf8(path: &Path) -> Result<&str, Error> {
    path.to_str().ok_or_else(|| unusable(path, "its path is not UTF-8".to_owned()))
}

fn unusable(path: &Path, reason: String) -> Error {
    Error::File { path: path.to_owned(), reason }
}

fn seal_error(path: &Path, error: SealError) -> Error {
    match error {
        SealError::Io(source) => Error::Io { path: path.to_owned(), source },
        SealError::Reason(reason) => unusable(path, reason),
    }
}

//! An index's file: FAISS' own format, and a seal after it.

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
    /// How many bytes [`write`](Self::write) writes.
    ///
    /// # Errors
    ///
    /// [`Error::Faiss`].
    pub fn file_bytes(&self) -> Result<u64, Error> {
        Ok(ffi::serialized_bytes(&self.index)? + seal::SEAL_BYTES as u64)
    }

    /// Writes the index to a file and brings it to the disk: FAISS' own format, which FAISS can read, and a checksum after it.
    ///
    /// The file is written in place. A program that may be stopped meanwhile writes to another name and renames it; what a stop
    /// leaves behind is refused by [`read`](Self::read).
    ///
    /// # Errors
    ///
    /// [`Error::Faiss`], [`Error::Io`] and [`Error::File`] when the file could not be written whole.
    pub fn write(&self, path: &Path) -> Result<(), Error> {
        self.check_not_half_changed()?;
        let bytes = ffi::serialized_bytes(&self.index)?;
        // FAISS would make it for everybody; what is there keeps its mode.
        let file = File::options().write(true).create(true).truncate(true).mode(0o600).open(path);
        file.map_err(|source| Error::Io { path: path.to_owned(), source })?;
        write_index(&self.index, utf8(path)?)?;
        seal::seal(path, bytes).map_err(|error| seal_error(path, error))
    }

    /// Reads what [`write`](Self::write) wrote.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] when there is no such file, [`Error::File`] when it is truncated, damaged or something else,
    /// [`Error::OtherIndex`] when it holds another kind or other dimensions.
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

/// FAISS takes a path as a C string.
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

//! Verifies a package's archive and reads its files.

use std::collections::BTreeMap;
use std::io::{self, Read};

use flate2::read::GzDecoder;
use sha2::{Digest as _, Sha256};

use super::manifest::Package;

/// Most bytes of one unpacked archive, so that a broken one cannot fill the memory.
const MAX_UNPACKED_BYTES: u64 = 512 << 20;

/// An archive cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// It is not the archive that the list names.
    #[error("{file} has the SHA-256 {found}; the list of packages says {expected}: delete it, and retry")]
    Hash {
        /// The archive's name.
        file: String,
        /// The hash in the list.
        expected: String,
        /// The hash of the archive.
        found: String,
    },
    /// It cannot be read.
    #[error("{file} cannot be read: {source}")]
    Unreadable {
        /// The archive's name.
        file: String,
        /// The cause.
        source: io::Error,
    },
    /// A path of the list has no file.
    #[error("{file} has no file at {path}")]
    Missing {
        /// The archive's name.
        file: String,
        /// The path.
        path: String,
    },
}

/// Verifies an archive and reads the files that the list names, by their path without the outermost folder.
///
/// # Errors
///
/// When the hash differs, the archive cannot be read, or a path of the list is missing.
pub fn read(package: &Package, archive: &[u8]) -> Result<BTreeMap<String, String>, ArchiveError> {
    let found = hex::encode(Sha256::digest(archive));
    if found != package.sha256 {
        let (file, expected) = (package.file.clone(), package.sha256.clone());
        return Err(ArchiveError::Hash { file, expected, found });
    }
    let files =
        unpack(package, archive).map_err(|source| ArchiveError::Unreadable { file: package.file.clone(), source })?;
    for path in package.cuts.iter().flat_map(|cut| &cut.paths) {
        if !files.keys().any(|file| file.starts_with(path.as_str())) {
            return Err(ArchiveError::Missing { file: package.file.clone(), path: path.clone() });
        }
    }
    Ok(files)
}

fn unpack(package: &Package, archive: &[u8]) -> io::Result<BTreeMap<String, String>> {
    let mut files = BTreeMap::new();
    let mut archive = tar::Archive::new(GzDecoder::new(archive).take(MAX_UNPACKED_BYTES));
    for entry in archive.entries()? {
        let mut entry = entry?;
        let path = entry.path()?.to_string_lossy().into_owned();
        let Some((_, path)) = path.split_once('/') else { continue };
        if entry.header().entry_type().is_file() && package.cuts.iter().any(|cut| cut.takes(path)) {
            let mut text = String::new();
            let path = path.to_owned();
            entry.read_to_string(&mut text)?;
            files.insert(path, text);
        }
    }
    Ok(files)
}

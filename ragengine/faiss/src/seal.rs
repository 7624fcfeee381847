//! A seal at the end of an index's file: its length and checksum.
//!
//! FAISS detects neither flipped bits nor a full disk when it closes a file, and trusts the sizes in a file: a wrong
//! one makes it allocate up to a terabyte. So FAISS only reads files that passed the check. It ignores data after its
//! own.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use sha2::{Digest, Sha256};

/// The seal: 8 bytes of magic, the length of FAISS' data (u64, little-endian), and its SHA-256.
pub(crate) const SEAL_BYTES: usize = 48;
const MAGIC: &[u8; 8] = b"ragfaiss";
const BUFFER_BYTES: usize = 1 << 20;

/// Why a file was refused.
#[derive(Debug)]
pub(crate) enum SealError {
    Io(io::Error),
    Reason(String),
}

impl From<io::Error> for SealError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Appends the seal to the `expected` bytes that FAISS wrote, and syncs the file to disk.
pub(crate) fn seal(path: &Path, expected: u64) -> Result<(), SealError> {
    let mut file = OpenOptions::new().read(true).append(true).open(path)?;
    let written = file.metadata()?.len();
    if written != expected {
        return Err(SealError::Reason(format!("only {written} of {expected} bytes were written: is the disk full?")));
    }
    let digest = digest(&mut file, expected)?;
    file.write_all(&[MAGIC.as_slice(), &expected.to_le_bytes(), &digest].concat())?;
    file.sync_all()?;
    Ok(())
}

/// Checks the seal and the data before it.
pub(crate) fn check(path: &Path) -> Result<(), SealError> {
    let mut file = File::open(path)?;
    let Some(length) = file.metadata()?.len().checked_sub(SEAL_BYTES as u64) else {
        return Err(SealError::Reason("it is too short".to_owned()));
    };
    let mut seal = [0; SEAL_BYTES];
    file.seek(SeekFrom::Start(length))?;
    file.read_exact(&mut seal)?;
    if !seal.starts_with(MAGIC) || seal[8..16] != length.to_le_bytes() {
        return Err(SealError::Reason("it is truncated or was not written by this program".to_owned()));
    }
    file.rewind()?;
    if digest(&mut file, length)? != seal[16..] {
        return Err(SealError::Reason("its checksum is wrong".to_owned()));
    }
    Ok(())
}

fn digest(file: &mut File, length: u64) -> io::Result<[u8; 32]> {
    let mut hasher = Sha256::new();
    let mut data = file.take(length);
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        match data.read(&mut buffer)? {
            0 => return Ok(hasher.finalize().into()),
            read => hasher.update(&buffer[..read]),
        }
    }
}

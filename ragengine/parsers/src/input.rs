use std::fs::{self, File};
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};

use crate::{Format, Limits, ParseError};

/// One file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input {
    /// How it is read.
    pub format: Format,
    /// What encoding its text has, where somebody says so ([`charset_of`](crate::charset_of) a content type).
    pub charset: Option<String>,
    /// Its bytes, or where they are.
    pub content: Content,
}

/// The bytes of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// Here.
    Bytes(Vec<u8>),
    /// In a file of this machine. A symbolic link is followed: whoever lists files decides about those.
    File(PathBuf),
}

impl Content {
    /// Opens it for reading from front to end.
    ///
    /// # Errors
    ///
    /// It is no file, cannot be opened or is larger than allowed.
    pub(crate) fn open(&self, limits: &Limits) -> Result<Box<dyn Read + '_>, ParseError> {
        match self {
            Self::Bytes(bytes) => {
                check_size(bytes.len() as u64, limits)?;
                Ok(Box::new(Cursor::new(bytes)))
            }
            Self::File(path) => {
                let (file, _) = open_file(path, limits)?;
                // A file may grow while it is read.
                Ok(Box::new(file.take(limits.max_file_bytes)))
            }
        }
    }

    /// All of it. What is here already is not copied.
    ///
    /// # Errors
    ///
    /// As [`Self::open`].
    pub(crate) fn read(self, limits: &Limits) -> Result<Vec<u8>, ParseError> {
        match self {
            Self::Bytes(bytes) => {
                check_size(bytes.len() as u64, limits)?;
                Ok(bytes)
            }
            Self::File(path) => {
                let (file, size) = open_file(&path, limits)?;
                // With its size from the start: a buffer that grows needs three times as much.
                let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
                file.take(limits.max_file_bytes).read_to_end(&mut bytes)?;
                Ok(bytes)
            }
        }
    }
}

/// Opens a file, and says how many bytes it has now.
///
/// # Errors
///
/// As [`Content::open`].
pub(crate) fn open_file(path: &Path, limits: &Limits) -> Result<(File, u64), ParseError> {
    // Before it is opened: opening a pipe waits for a writer.
    let metadata = fs::metadata(path)?;
    if !metadata.is_file() {
        return Err(ParseError::Unreadable("it is no file".to_owned()));
    }
    check_size(metadata.len(), limits)?;
    Ok((File::open(path)?, metadata.len()))
}

/// Whether a file of so many bytes may be read.
///
/// # Errors
///
/// It is larger than allowed.
pub(crate) fn check_size(bytes: u64, limits: &Limits) -> Result<(), ParseError> {
    match bytes > limits.max_file_bytes {
        true => Err(ParseError::FileTooLarge { max_bytes: limits.max_file_bytes }),
        false => Ok(()),
    }
}

use std::fs::{self, File};
use std::io::{Cursor, Read};
use std::path::PathBuf;

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
        let too_large = ParseError::FileTooLarge { max_bytes: limits.max_file_bytes };
        match self {
            Self::Bytes(bytes) if bytes.len() as u64 > limits.max_file_bytes => Err(too_large),
            Self::Bytes(bytes) => Ok(Box::new(Cursor::new(bytes))),
            Self::File(path) => {
                // Before it is opened: opening a pipe waits for a writer.
                let metadata = fs::metadata(path)?;
                if !metadata.is_file() {
                    return Err(ParseError::Unreadable("it is no file".to_owned()));
                }
                if metadata.len() > limits.max_file_bytes {
                    return Err(too_large);
                }
                // A file may grow while it is read.
                Ok(Box::new(File::open(path)?.take(limits.max_file_bytes)))
            }
        }
    }

    /// All of it.
    ///
    /// # Errors
    ///
    /// As [`Self::open`].
    pub(crate) fn read(&self, limits: &Limits) -> Result<Vec<u8>, ParseError> {
        let mut reader = self.open(limits)?;
        // With its size from the start: a buffer that grows needs three times as much.
        let size = match &self {
            Self::Bytes(bytes) => bytes.len(),
            Self::File(path) => usize::try_from(fs::metadata(path)?.len()).unwrap_or_default(),
        };
        let mut bytes = Vec::with_capacity(size);
        reader.read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

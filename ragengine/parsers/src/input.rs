use std::fs::{self, File};
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};

use crate::{Format, Limits, ParseError};

/// A file to parse.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input {
    /// The format of the file.
    pub format: Format,
    /// The encoding of its text, if known, for example from the content type (see [`charset_of`](crate::charset_of)).
    pub charset: Option<String>,
    /// The bytes of the file, or its path.
    pub content: Content,
}

/// The content of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// Bytes in memory.
    Bytes(Vec<u8>),
    /// The path of a local file. Symbolic links are followed: callers that list files must filter them.
    File(PathBuf),
}

impl Content {
    /// Opens the content for sequential reading.
    ///
    /// # Errors
    ///
    /// It is not a regular file, cannot be opened, or is larger than allowed.
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

    /// Reads the whole content. Bytes in memory are not copied.
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
                // Allocated at once, because a growing buffer needs three times the memory.
                let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
                file.take(limits.max_file_bytes).read_to_end(&mut bytes)?;
                Ok(bytes)
            }
        }
    }
}

/// Opens a file and returns its current size in bytes.
///
/// # Errors
///
/// As [`Content::open`].
pub(crate) fn open_file(path: &Path, limits: &Limits) -> Result<(File, u64), ParseError> {
    // Checked before the file is opened, because opening a pipe waits for a writer.
    let metadata = fs::metadata(path)?;
    if !metadata.is_file() {
        return Err(ParseError::Unreadable("it is not a regular file".to_owned()));
    }
    check_size(metadata.len(), limits)?;
    Ok((File::open(path)?, metadata.len()))
}

/// Checks the size of a file.
///
/// # Errors
///
/// The file is larger than allowed.
pub(crate) fn check_size(bytes: u64, limits: &Limits) -> Result<(), ParseError> {
    if bytes > limits.max_file_bytes {
        return Err(ParseError::FileTooLarge { max_bytes: limits.max_file_bytes });
    }
    Ok(())
}

use std::collections::BTreeMap;
use std::path::Path;
use std::{fs, io};

use super::table::Table;
use crate::small_file::{self, FileError};
use crate::{Principal, PrincipalError};

/// The keys at most.
const MAX_KEYS: usize = 1_000;

/// The longest file, in bytes.
const MAX_KEY_BYTES: u64 = 4_096;

/// The files of a folder at most, with those that are no keys.
const MAX_FILES: usize = 2 * MAX_KEYS;

/// Files that are left out, and why.
pub(super) type Refusals = BTreeMap<String, Refusal>;

/// Why a file is no key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refusal {
    /// Everybody would have such a key.
    #[error("it is empty")]
    Empty,
    /// Its name cannot be that of a key.
    #[error("its name cannot be that of a key: {0}")]
    Name(PrincipalError),
    /// It cannot be read.
    #[error("{0}")]
    File(FileError),
    /// There are too many.
    #[error("there are more than {MAX_KEYS} keys")]
    TooMany,
}

/// Reads the keys of a folder, and which files are none.
///
/// # Errors
///
/// When the folder cannot be listed.
pub(super) fn read(folder: &Path) -> io::Result<(Table, Refusals)> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)?.take(MAX_FILES) {
        let name = entry?.file_name();
        // Those of a volume's versions begin so.
        if !name.as_encoded_bytes().starts_with(b"..") {
            names.push(name);
        }
    }
    names.sort();
    let (mut table, mut refusals) = (Table::default(), Refusals::new());
    for name in names {
        let shown = name.to_string_lossy();
        match key(&folder.join(&name), &shown) {
            Ok(_) if table.len() == MAX_KEYS => drop(refusals.insert(shown.into_owned(), Refusal::TooMany)),
            Ok((principal, content)) => table.add(principal, content.trim_ascii()),
            // It was removed after it had been listed.
            Err(Refusal::File(FileError::Io(io::ErrorKind::NotFound))) => {}
            Err(refusal) => drop(refusals.insert(shown.into_owned(), refusal)),
        }
    }
    Ok((table, refusals))
}

fn key(path: &Path, name: &str) -> Result<(Principal, Vec<u8>), Refusal> {
    let principal = Principal::key(name).map_err(Refusal::Name)?;
    let content = small_file::read(path, MAX_KEY_BYTES).map_err(Refusal::File)?;
    if content.trim_ascii().is_empty() {
        return Err(Refusal::Empty);
    }
    Ok((principal, content))
}

//! Whether the catalog lists what is there. One that was lost, or is an older copy, would make every index that it does not know the rest
//! of one that was deleted.

use std::fs;
use std::path::{Path, PathBuf};

use redb::ReadableDatabase as _;

use super::tables::META;
use super::{CATALOG_FILE, Catalog};
use crate::IndexError;
use crate::store::StoreError;

/// Refuses to make a new catalog where there are indexes.
pub(super) fn require_file(directory: &Path) -> Result<(), IndexError> {
    let bytes = fs::metadata(directory.join(CATALOG_FILE)).map_or(0, |file| file.len());
    match index_folders(directory)?.len() {
        folders if folders > 0 && bytes == 0 => {
            let what = format!("is missing or empty, and there are {folders} folders of indexes");
            Err(StoreError::Catalog(what).into())
        }
        _ => Ok(()),
    }
}

/// What is wrong with the catalog's file is not wrong with an index.
pub(super) fn of_catalog(error: IndexError) -> IndexError {
    match error {
        IndexError::Store(StoreError::Damaged(reason)) => StoreError::Catalog(format!("is damaged: {reason}")).into(),
        error => error,
    }
}

/// The folders that only this program makes.
pub(super) fn index_folders(directory: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let entries = match fs::read_dir(directory.join("indexes")) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut folders = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() && number_of(&path).is_some() {
            folders.push(path);
        }
    }
    Ok(folders)
}

/// The number of an index's folder.
pub(super) fn number_of(folder: &Path) -> Option<u64> {
    let name = folder.file_name()?.to_str()?;
    let is_ours = name.len() == 8 && name.bytes().all(|byte| byte.is_ascii_digit());
    is_ours.then(|| name.parse().ok())?
}

impl Catalog {
    /// Each folder has a number that the catalog has given: one that has not yet given it is older than the folder.
    pub(super) fn require_known_folders(&self) -> Result<(), StoreError> {
        let read = self.database.get()?.begin_read().map_err(redb::Error::from)?;
        let meta = read.open_table(META).map_err(redb::Error::from)?;
        let next = meta.get("next_folder").map_err(redb::Error::from)?;
        let next: u64 = next.and_then(|next| next.value().parse().ok()).unwrap_or(1);
        let folders = index_folders(&self.options.directory)?;
        match folders.iter().find(|folder| number_of(folder) >= Some(next)) {
            Some(folder) => {
                let folder = folder.display();
                let what = format!(
                    "is older than the indexes: it does not know of {folder} (move that away if it is not wanted)"
                );
                Err(StoreError::Catalog(what))
            }
            None => Ok(()),
        }
    }
}

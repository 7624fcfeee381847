//! Checks that the catalog matches the folders on disk. A lost or older catalog would make indexes that it does not
//! list look deleted, and their folders would be removed.

use std::fs;
use std::path::{Path, PathBuf};

use redb::ReadableDatabase as _;

use super::tables::META;
use super::{CATALOG_FILE, Catalog};
use crate::IndexError;
use crate::store::StoreError;

/// Refuses to create a new catalog where index folders exist.
pub(super) fn require_file(directory: &Path) -> Result<(), IndexError> {
    let bytes = fs::metadata(directory.join(CATALOG_FILE)).map_or(0, |file| file.len());
    match index_folders(directory)?.len() {
        folders if folders > 0 && bytes == 0 => {
            let what = format!("is missing or empty, but there are {folders} index folders");
            Err(StoreError::Catalog(what).into())
        }
        _ => Ok(()),
    }
}

/// Damage of the catalog's file is reported as such, not as damage of an index.
pub(super) fn of_catalog(error: IndexError) -> IndexError {
    match error {
        IndexError::Store(StoreError::Damaged(reason)) => StoreError::Catalog(format!("is damaged: {reason}")).into(),
        error => error,
    }
}

/// The index folders in the data folder. Other folders are ignored.
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
    /// Checks that the catalog has assigned the number of every folder. If it has not, it is older than the folder.
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
                    "is older than the indexes: it has no record of {folder} (move that folder away if it is not \
                     needed)"
                );
                Err(StoreError::Catalog(what))
            }
            None => Ok(()),
        }
    }
}

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};

use super::{Manifest, SnapshotError};
use crate::private;
use crate::store::sync_directory;

const MANIFEST: &str = "manifest";

/// Bytes that a snapshot must leave free on the disk for documents.
const SPARE_BYTES: u64 = 64 << 20;

/// The largest manifest: 100 bytes, and at most 8 for each of the 2^31 rows that a segment can number.
const MAX_MANIFEST_BYTES: u64 = 1 << 34;

/// The folders of one kind of snapshots in an index's folder. Each has a manifest and the files that it describes.
#[derive(Debug, Clone, Copy)]
pub struct Folders {
    /// The folder's name, before its number.
    pub prefix: &'static str,
    /// The name of the folder that is being written.
    pub unfinished: &'static str,
}

impl Folders {
    /// Writes a snapshot: `make` writes its files into a temporary folder, which is synced and then replaces older
    /// snapshots. So a snapshot that exists is complete. Returns its folder.
    ///
    /// # Errors
    ///
    /// If there is not enough space, or the disk fails. The older snapshot is kept then.
    pub fn write(
        self,
        folder: &Path,
        make: impl FnOnce(&Path) -> Result<Manifest, SnapshotError>,
    ) -> Result<PathBuf, SnapshotError> {
        let aside = folder.join(self.unfinished);
        let written = write_aside(&aside, make).and_then(|()| self.put_in_place(folder, &aside));
        written.map_err(|error| {
            drop(fs::remove_dir_all(&aside));
            match error {
                // A file that is incomplete right after writing is a failure of the disk.
                SnapshotError::Damaged(reason) => SnapshotError::Disk(reason),
                error => error,
            }
        })
    }

    fn put_in_place(self, folder: &Path, aside: &Path) -> Result<PathBuf, SnapshotError> {
        let older = self.numbered(folder)?;
        let number = older.last().map_or(1, |(number, _)| number + 1);
        let path = folder.join(format!("{}{number:08}", self.prefix));
        fs::rename(aside, &path)?;
        sync_directory(folder)?;
        for (_, path) in older {
            fs::remove_dir_all(path)?;
        }
        Ok(path)
    }

    /// The folder and the manifest of the latest snapshot. None if there is none.
    ///
    /// # Errors
    ///
    /// If the manifest cannot be used.
    pub fn latest(self, folder: &Path) -> Result<Option<(PathBuf, Manifest)>, SnapshotError> {
        self.remove_unfinished(folder)?;
        let Some((_, path)) = self.numbered(folder)?.pop() else { return Ok(None) };
        let mut bytes = Vec::new();
        File::open(path.join(MANIFEST))?.take(MAX_MANIFEST_BYTES).read_to_end(&mut bytes)?;
        Ok(Some((path, Manifest::decode(&bytes)?)))
    }

    /// Removes all snapshots.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn remove(self, folder: &Path) -> Result<(), SnapshotError> {
        self.remove_unfinished(folder)?;
        for (_, path) in self.numbered(folder)? {
            fs::remove_dir_all(path)?;
        }
        Ok(())
    }

    fn remove_unfinished(self, folder: &Path) -> Result<(), SnapshotError> {
        match fs::remove_dir_all(folder.join(self.unfinished)) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// The snapshots in a folder, in order. There is more than one only after a crash between two steps.
    pub(super) fn numbered(self, folder: &Path) -> Result<Vec<(u64, PathBuf)>, SnapshotError> {
        let mut found = Vec::new();
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if let Some(number) = name.strip_prefix(self.prefix).and_then(|number| number.parse().ok()) {
                found.push((number, path));
            }
        }
        found.sort_unstable();
        Ok(found)
    }
}

fn write_aside(aside: &Path, make: impl FnOnce(&Path) -> Result<Manifest, SnapshotError>) -> Result<(), SnapshotError> {
    if aside.exists() {
        fs::remove_dir_all(aside)?;
    }
    private::create_folder(aside)?;
    let manifest = make(aside)?;
    let mut file = private::file().write(true).create_new(true).open(aside.join(MANIFEST))?;
    file.write_all(&manifest.encode())?;
    file.sync_all()?;
    Ok(sync_directory(aside)?)
}

/// Checks that a snapshot of `bytes` with this many rows leaves enough space on the disk.
///
/// # Errors
///
/// [`SnapshotError::NoRoom`], or an error of the disk.
pub fn require_room(folder: &Path, bytes: u64, rows: usize) -> Result<(), SnapshotError> {
    let disk = rustix::fs::statvfs(folder).map_err(io::Error::from)?;
    let free_bytes = disk.f_bavail.saturating_mul(disk.f_frsize);
    let needed_bytes = bytes.saturating_add(8 * rows as u64).saturating_add(SPARE_BYTES);
    if free_bytes < needed_bytes { Err(SnapshotError::NoRoom { needed_bytes, free_bytes }) } else { Ok(()) }
}

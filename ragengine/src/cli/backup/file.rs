use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io::{BufReader, Read, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

use ragengine_index::archive::{ArchiveError, Piece, read};
use ragengine_index::private;

/// The suffix of unfinished backup files.
const PARTIAL: &str = ".partial";

/// An unfinished backup: a hidden file in the folder of its target. Dropping it deletes the file.
pub struct Partial {
    file: File,
    path: PathBuf,
    target: PathBuf,
}

/// The contents of a backup.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Contents {
    /// Names of the indexes.
    pub indexes: Vec<String>,
    /// Number of documents in all indexes.
    pub documents: u64,
}

impl Partial {
    /// Creates the temporary file for a backup at `target`.
    pub fn begin(target: &Path) -> anyhow::Result<Self> {
        let Some(name) = target.file_name() else { bail!("{} is not the name of a file", target.display()) };
        let hidden: OsString = [".".as_ref(), name, PARTIAL.as_ref()].into_iter().collect();
        let path = target.with_file_name(hidden);
        // Overwrites the leftover of a run that was killed.
        let file = private::file().read(true).write(true).create(true).truncate(false).open(&path);
        let file = file.with_context(|| format!("cannot write {}", path.display()))?;
        if is_locked(&file) {
            bail!("another `ragengine backup` is writing {}", path.display());
        }
        file.set_len(0)?;
        Ok(Self { file, path, target: target.to_owned() })
    }

    /// Appends bytes.
    pub fn write(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        self.file.write_all(bytes).with_context(|| format!("cannot write {}", self.path.display()))
    }

    /// Reads the whole file and returns its contents.
    ///
    /// # Errors
    ///
    /// When it is not a complete backup.
    pub fn verify(&self) -> anyhow::Result<Contents> {
        verify(&self.path).context("the server sent an invalid backup, which was deleted")
    }

    /// Renames the file, which was verified, to its target.
    ///
    /// # Errors
    ///
    /// When it cannot be renamed.
    pub fn keep(self) -> anyhow::Result<()> {
        let failed = || format!("cannot write {}", self.target.display());
        self.file.sync_all().with_context(failed)?;
        fs::rename(&self.path, &self.target).with_context(failed)?;
        let folder = self.target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        File::open(folder).and_then(|folder| folder.sync_all()).with_context(failed)
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        // Fails after `keep`, which has renamed the file.
        drop(fs::remove_file(&self.path));
    }
}

/// Reads a whole backup file and returns its contents.
///
/// # Errors
///
/// When the file cannot be read or is not a complete backup.
pub fn verify(path: &Path) -> anyhow::Result<Contents> {
    let file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    verify_stream(BufReader::with_capacity(1 << 18, file)).with_context(|| format!("the backup {}", path.display()))
}

/// Reads a whole backup and returns its contents.
///
/// # Errors
///
/// When it cannot be read or is not complete.
pub fn verify_stream(source: impl Read) -> Result<Contents, ArchiveError> {
    let mut contents = Contents::default();
    read(source, u64::MAX, |piece| {
        match piece {
            Piece::Manifest(manifest) => contents.indexes = manifest.indexes,
            Piece::Index(_, header) => contents.documents += header.documents,
            Piece::Rows(_) => {}
        }
        Ok::<(), ArchiveError>(())
    })?;
    Ok(contents)
}

/// Removes the unfinished backups of killed runs from a folder.
pub fn remove_leftovers(folder: &Path) -> anyhow::Result<()> {
    for entry in folder.read_dir().with_context(|| format!("cannot read {}", folder.display()))? {
        let (path, name) = entry.map(|entry| (entry.path(), entry.file_name()))?;
        let name = name.to_string_lossy();
        let is_ours = name.starts_with(".ragengine-") && name.ends_with(".tar.partial");
        if is_ours && File::open(&path).is_ok_and(|file| !is_locked(&file)) {
            fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
        }
    }
    Ok(())
}

/// Whether another process holds the lock. Locks the file if it is free. False on file systems without locks.
fn is_locked(file: &File) -> bool {
    matches!(file.try_lock(), Err(TryLockError::WouldBlock))
}

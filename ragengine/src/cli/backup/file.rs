use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io::{BufReader, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

use ragengine_index::archive::{ArchiveError, Piece, read};
use ragengine_index::private;

/// The end of the names of files under way.
const PARTIAL: &str = ".partial";

/// A backup under way, beside the place where it belongs. Dropped before it is finished, it is gone.
pub struct Partial {
    file: File,
    path: PathBuf,
    target: PathBuf,
}

/// What a backup holds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Contents {
    /// The names of its indexes.
    pub indexes: Vec<String>,
    /// Documents in all of them.
    pub documents: u64,
}

impl Partial {
    /// Begins a backup that will be at `target`.
    pub fn begin(target: &Path) -> anyhow::Result<Self> {
        let Some(name) = target.file_name() else { bail!("{} is not the name of a file", target.display()) };
        let hidden: OsString = [".".as_ref(), name, PARTIAL.as_ref()].into_iter().collect();
        let path = target.with_file_name(hidden);
        // What a run that was killed has left is written over.
        let file = private::file().read(true).write(true).create(true).truncate(false).open(&path);
        let file = file.with_context(|| format!("cannot write {}", path.display()))?;
        if is_locked(&file) {
            bail!("another `ragengine backup` writes {}", path.display());
        }
        file.set_len(0)?;
        Ok(Self { file, path, target: target.to_owned() })
    }

    /// Adds bytes.
    pub fn write(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        self.file.write_all(bytes).with_context(|| format!("cannot write {}", self.path.display()))
    }

    /// Reads what is on the disk, and puts it into its place when it is a whole backup.
    pub fn finish(self) -> anyhow::Result<Contents> {
        let contents = verify(&self.path).context("what the server has sent cannot be used, and is not kept")?;
        let told = || format!("cannot write {}", self.target.display());
        self.file.sync_all().with_context(told)?;
        fs::rename(&self.path, &self.target).with_context(told)?;
        let folder = self.target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        File::open(folder).and_then(|folder| folder.sync_all()).with_context(told)?;
        Ok(contents)
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        // It is not there any more when it was finished.
        drop(fs::remove_file(&self.path));
    }
}

/// Reads a whole backup and says what it holds.
pub fn verify(path: &Path) -> anyhow::Result<Contents> {
    let mut contents = Contents::default();
    let file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    read(BufReader::with_capacity(1 << 18, file), u64::MAX, |piece| {
        match piece {
            Piece::Manifest(manifest) => contents.indexes = manifest.indexes,
            Piece::Index(_, header) => contents.documents += header.documents,
            Piece::Rows(_) => {}
        }
        Ok::<(), ArchiveError>(())
    })
    .with_context(|| format!("the backup {}", path.display()))?;
    Ok(contents)
}

/// Removes what runs that were killed have left in a folder.
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

/// Takes the lock when it is free. Where the file system has no locks, it is.
fn is_locked(file: &File) -> bool {
    matches!(file.try_lock(), Err(TryLockError::WouldBlock))
}

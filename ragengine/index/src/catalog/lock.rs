//! Locks the data folder for one process. A second process gets an error that names the first.

use std::fs::{File, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::path::Path;

use jiff::Timestamp;
use tracing::warn;

use crate::private;
use crate::store::StoreError;

const FILE: &str = "server.lock";

/// The part of a lock file that is read. Its content is untrusted.
const MAX_HOLDER_BYTES: u64 = 300;

/// The lock on a data folder. The operating system releases it when the process ends, even if it crashes.
pub(super) struct FolderLock(#[expect(dead_code, reason = "it is held, not read")] Option<File>);

impl FolderLock {
    /// Takes the lock and records this process as its holder.
    ///
    /// # Errors
    ///
    /// [`StoreError::InUse`] with the holder, or an error of the disk.
    pub(super) fn take(folder: &Path) -> Result<Self, StoreError> {
        let path = folder.join(FILE);
        let mut file = private::file().read(true).write(true).create(true).truncate(false).open(&path)?;
        private::close_file(&path);
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(StoreError::InUse(holder(&mut file))),
            Err(TryLockError::Error(error)) => {
                // Some network file systems have no locks. The lock of the catalog's database is tried next; its error
                // does not name the holder.
                warn!(%error, "the data folder's server.lock cannot be locked");
                return Ok(Self(None));
            }
        }
        // The record is only informative, so a full disk must not stop the start.
        if let Err(error) = write_holder(&mut file) {
            warn!(%error, "the holder of the data folder could not be written to its server.lock");
        }
        Ok(Self(Some(file)))
    }
}

fn write_holder(file: &mut File) -> std::io::Result<()> {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname")?;
    let (process, host) = (std::process::id(), host.trim());
    let since = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ");
    file.set_len(0)?;
    file.rewind()?;
    write!(file, "process {process} on host {host} since {since}")
}

/// The holder of the lock, as it described itself.
fn holder(file: &mut File) -> String {
    let mut words = String::new();
    let read = file.take(MAX_HOLDER_BYTES).read_to_string(&mut words);
    words.retain(|character| !character.is_control());
    match read {
        Ok(_) if !words.is_empty() => words,
        _ => "an unknown process".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(folder: &Path) -> String {
        match FolderLock::take(folder) {
            Err(StoreError::InUse(holder)) => holder,
            other => panic!("{:?}", other.map(|_| ()).err()),
        }
    }

    #[test]
    fn the_second_process_gets_an_error_that_names_the_first() {
        let folder = tempfile::tempdir().unwrap();
        let lock = FolderLock::take(folder.path()).unwrap();
        let said = refusal(folder.path());
        assert!(said.starts_with(&format!("process {} on host ", std::process::id())), "{said}");
        assert!(said.contains(" since 20") && said.ends_with('Z'), "{said}");
        drop(lock);
        FolderLock::take(folder.path()).unwrap();
    }

    #[test]
    fn any_content_of_the_lock_file_is_shown_as_text() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        let _lock = FolderLock::take(folder.path()).unwrap();
        for (written, expected) in [
            (vec![], "an unknown process"),
            (vec![0xff, 0xfe], "an unknown process"),
            (b"a\n\x1b[31mb".to_vec(), "a[31mb"),
        ] {
            std::fs::write(&path, written).unwrap();
            assert_eq!(refusal(folder.path()), expected);
        }
        std::fs::write(&path, vec![b'x'; 1000]).unwrap();
        assert_eq!(refusal(folder.path()).len(), 300);
    }
}

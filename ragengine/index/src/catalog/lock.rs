//! One process per data folder: the second is refused, and told who the first is.

use std::fs::{File, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::path::Path;

use jiff::Timestamp;
use tracing::warn;

use crate::private;
use crate::store::StoreError;

const FILE: &str = "server.lock";

/// What is read of a lock file that may be anything.
const MAX_HOLDER_BYTES: u64 = 300;

/// The lock on a data folder. The system gives it back when the process ends, however it ends.
pub(super) struct FolderLock(#[expect(dead_code, reason = "it is held, not read")] Option<File>);

impl FolderLock {
    /// Takes the lock, and writes down who has it.
    ///
    /// # Errors
    ///
    /// [`StoreError::InUse`] with who has it, or what the disk says.
    pub(super) fn take(folder: &Path) -> Result<Self, StoreError> {
        let path = folder.join(FILE);
        let mut file = private::file().read(true).write(true).create(true).truncate(false).open(&path)?;
        private::close_file(&path);
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(StoreError::InUse(holder(&mut file))),
            Err(TryLockError::Error(error)) => {
                // Some network file systems have no locks. The catalog's own says less, and is tried next.
                warn!(%error, "the data folder's server.lock cannot be locked");
                return Ok(Self(None));
            }
        }
        // For people only: a full disk is no reason to refuse.
        if let Err(error) = write_holder(&mut file) {
            warn!(%error, "who has the data folder could not be written to its server.lock");
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

/// Who has the lock, in the words of the one who has it.
fn holder(file: &mut File) -> String {
    let mut words = String::new();
    let read = file.take(MAX_HOLDER_BYTES).read_to_string(&mut words);
    words.retain(|character| !character.is_control());
    match read {
        Ok(_) if !words.is_empty() => words,
        _ => "one that has not said who it is".to_owned(),
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
    fn the_second_is_told_who_the_first_is() {
        let folder = tempfile::tempdir().unwrap();
        let lock = FolderLock::take(folder.path()).unwrap();
        let said = refusal(folder.path());
        assert!(said.starts_with(&format!("process {} on host ", std::process::id())), "{said}");
        assert!(said.contains(" since 20") && said.ends_with('Z'), "{said}");
        drop(lock);
        FolderLock::take(folder.path()).unwrap();
    }

    #[test]
    fn whatever_stands_in_the_file_is_words() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        let _lock = FolderLock::take(folder.path()).unwrap();
        for (written, expected) in [
            (vec![], "one that has not said who it is"),
            (vec![0xff, 0xfe], "one that has not said who it is"),
            (b"a\n\x1b[31mb".to_vec(), "a[31mb"),
        ] {
            std::fs::write(&path, written).unwrap();
            assert_eq!(refusal(folder.path()), expected);
        }
        std::fs::write(&path, vec![b'x'; 1000]).unwrap();
        assert_eq!(refusal(folder.path()).len(), 300);
    }
}

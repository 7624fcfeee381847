//! How much room a volume has for what is made beside what is there: copies, and indexes that are loaded or restored.

use std::path::{Path, PathBuf};

use super::store::StoreError;

/// The volume is looked at again after so many bytes.
const LOOK_EVERY_BYTES: u64 = 16 << 20;

/// What is left free for those who write documents meanwhile, at most.
const MAX_RESERVE_BYTES: u64 = 1 << 30;

/// The room on a volume, counted down while it is used.
pub struct Room {
    directory: PathBuf,
    taken_bytes: u64,
    known_bytes: u64,
}

impl Room {
    /// The room on the volume of a folder.
    ///
    /// # Errors
    ///
    /// When it cannot be found out.
    pub fn of(directory: &Path) -> Result<Self, StoreError> {
        Ok(Self { directory: directory.to_owned(), taken_bytes: 0, known_bytes: free_bytes(directory)? })
    }

    /// Takes some of it. What was written before may have become more or less on the disk: it is looked at again now and then.
    ///
    /// # Errors
    ///
    /// [`StoreError::Full`] when a part of the volume would not stay free: a twentieth, at most 1 GiB.
    pub fn take(&mut self, bytes: u64) -> Result<(), StoreError> {
        self.taken_bytes += bytes;
        if self.taken_bytes >= LOOK_EVERY_BYTES {
            (self.taken_bytes, self.known_bytes) = (bytes, free_bytes(&self.directory)?);
        }
        match self.taken_bytes <= self.known_bytes {
            true => Ok(()),
            false => Err(StoreError::Full),
        }
    }
}

fn free_bytes(directory: &Path) -> Result<u64, StoreError> {
    let volume = rustix::fs::statvfs(directory).map_err(std::io::Error::from)?;
    let bytes = |blocks: u64| blocks.saturating_mul(volume.f_frsize);
    Ok(beyond_reserve(bytes(volume.f_bavail), bytes(volume.f_blocks)))
}

fn beyond_reserve(available_bytes: u64, total_bytes: u64) -> u64 {
    available_bytes.saturating_sub((total_bytes / 20).min(MAX_RESERVE_BYTES))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_room_stays_free() {
        const GIB: u64 = 1 << 30;
        for (available, total, free) in [
            (GIB, 10 * GIB, GIB / 2),
            (10 * GIB, 1000 * GIB, 9 * GIB),
            (GIB / 2, 10 * GIB, 0),
            (0, 0, 0),
            (GIB, 0, GIB),
        ] {
            assert_eq!(beyond_reserve(available, total), free, "{available} of {total}");
        }
    }

    #[test]
    fn more_than_there_is_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let mut room = Room { directory: folder.path().to_owned(), taken_bytes: 0, known_bytes: 1000 };
        assert_eq!((room.take(600).is_ok(), room.take(400).is_ok()), (true, true));
        assert!(matches!(room.take(1), Err(StoreError::Full)));
        assert!(matches!(Room::of(folder.path()).unwrap().take(u64::MAX / 2), Err(StoreError::Full)));
        assert!(Room::of(&folder.path().join("nowhere")).is_err());
    }
}

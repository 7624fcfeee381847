//! Free space on a volume, for data that is written beside existing data: copies, and indexes that are loaded or
//! restored.

use std::path::{Path, PathBuf};

use super::store::StoreError;

/// The volume's free space is read again after this many bytes.
const LOOK_EVERY_BYTES: u64 = 16 << 20;

/// The most space that stays free for documents that are written at the same time.
const MAX_RESERVE_BYTES: u64 = 1 << 30;

/// The usable space on a volume, counted down as it is used.
pub struct Room {
    directory: PathBuf,
    taken_bytes: u64,
    known_bytes: u64,
}

impl Room {
    /// Reads the usable space on the volume of a folder.
    ///
    /// # Errors
    ///
    /// If it cannot be determined.
    pub fn of(directory: &Path) -> Result<Self, StoreError> {
        Ok(Self { directory: directory.to_owned(), taken_bytes: 0, known_bytes: free_bytes(directory)? })
    }

    /// Reserves space. The free space is read again regularly, because written data may need more or less than its
    /// size.
    ///
    /// # Errors
    ///
    /// [`StoreError::Full`] if less than 5% of the volume, at most 1 GiB, would stay free.
    pub fn take(&mut self, bytes: u64) -> Result<(), StoreError> {
        self.taken_bytes += bytes;
        if self.taken_bytes >= LOOK_EVERY_BYTES {
            (self.taken_bytes, self.known_bytes) = (bytes, free_bytes(&self.directory)?);
        }
        if self.taken_bytes <= self.known_bytes { Ok(()) } else { Err(StoreError::Full) }
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

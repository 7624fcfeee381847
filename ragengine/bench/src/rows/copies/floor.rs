use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

/// Bytes per write, as in the server.
const PIECE_BYTES: usize = 256 << 10;

/// Writes and syncs a new file of this size, removes it, and returns the duration of writing and syncing.
pub fn write(path: &Path, bytes: u64) -> anyhow::Result<Duration> {
    let piece = [7; PIECE_BYTES];
    let began = Instant::now();
    let mut file = File::create(path)?;
    let mut left = bytes;
    while left > 0 {
        let now = left.min(PIECE_BYTES as u64);
        file.write_all(&piece[..now as usize])?;
        left -= now;
    }
    file.sync_all()?;
    let took = began.elapsed();
    std::fs::remove_file(path)?;
    Ok(took)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_written_and_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("floor");
        assert!(write(&path, 3 * PIECE_BYTES as u64 + 1).unwrap() > Duration::ZERO);
        assert!(!path.exists());
    }
}

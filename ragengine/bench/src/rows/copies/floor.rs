use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

/// What is written at once, as the server does.
const PIECE_BYTES: usize = 256 << 10;

/// How long it takes to write so many bytes into a new file until they are on the disk.
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
    fn it_writes_and_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("floor");
        assert!(write(&path, 3 * PIECE_BYTES as u64 + 1).unwrap() > Duration::ZERO);
        assert!(!path.exists());
    }
}

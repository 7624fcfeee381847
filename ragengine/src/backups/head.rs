use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use ragengine_index::archive::{ArchiveError, Piece, read};

/// Whether a file is a backup of a server that had no index. Only its beginning is read. Of a file that cannot be read
/// this is unknown, and not assumed.
pub fn has_no_index(path: &Path) -> bool {
    let Ok(file) = File::open(path) else { return false };
    let stopped = read(BufReader::new(file), u64::MAX, |piece| Err(Stopped::At(piece)));
    matches!(stopped, Err(Stopped::At(Piece::Manifest(manifest))) if manifest.indexes.is_empty())
}

/// Why a file was not read further.
enum Stopped {
    At(Piece),
    Failed,
}

impl From<ArchiveError> for Stopped {
    fn from(_: ArchiveError) -> Self {
        Self::Failed
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use ragengine_index::archive::{ArchiveWriter, Manifest};

    use super::*;

    #[test]
    fn only_a_backup_that_lists_no_index_has_none() {
        let folder = tempfile::tempdir().unwrap();
        let has_none = |bytes: &[u8]| {
            let path = folder.path().join("backup.tar");
            fs::write(&path, bytes).unwrap();
            has_no_index(&path)
        };
        let backup = |indexes: Vec<String>| {
            ArchiveWriter::begin(Vec::new(), &Manifest::new("data", indexes)).unwrap().end().unwrap()
        };
        assert!(has_none(&backup(Vec::new())));
        assert!(!has_none(&backup(vec!["a".to_owned()])));
        assert!(!has_none(b"") && !has_none(&[0; 4096]) && !has_none(b"<html>"));
        assert!(!has_no_index(&folder.path().join("missing.tar")));
    }
}

use std::fs;
use std::path::PathBuf;

use ragengine_faiss::Kind;
use ragengine_settings::VectorIndexKind;

use super::*;

const KIND: Kind = Kind::Hnsw { m: 8 };
const NEXT_ROW: u64 = 1000;

/// Damage to a snapshot.
type Damage = fn(&Path);

fn identity() -> Identity {
    Identity { store: Uuid::from_u128(1), kind: VectorIndexKind::Hnsw { m: 8 }, dimensions: 2 }
}

/// A graph of every second row.
fn segment(count: u64) -> Segment {
    let rows: Vec<u64> = (0..count).map(|row| row * 2).collect();
    let vectors: Vec<f32> = rows.iter().flat_map(|row| [*row as f32, 1.0]).collect();
    let mut segment = Segment::new(KIND, 2).unwrap();
    segment.add(&rows, &vectors).unwrap();
    segment
}

fn with_snapshot() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), identity().store, 2, &segment(100)).unwrap();
    folder
}

fn file(folder: &Path, name: &str) -> PathBuf {
    FOLDERS.numbered(folder).unwrap().pop().unwrap().1.join(name)
}

fn kind_of(folder: &Path, identity: Identity, next_row: u64) -> &'static str {
    match read(folder, identity, next_row) {
        Ok(Some(_)) => "loaded",
        Ok(None) => "missing",
        Err(error) => error.kind(),
    }
}

#[test]
fn a_written_snapshot_is_read() {
    let folder = with_snapshot();
    let read = read(folder.path(), identity(), NEXT_ROW).unwrap().unwrap();
    assert_eq!(read.rows(), segment(100).rows());
    assert_eq!(read.vector(7).unwrap(), [14.0, 1.0]);
}

#[test]
fn only_the_latest_snapshot_is_kept() {
    let folder = with_snapshot();
    write(folder.path(), identity().store, 2, &segment(120)).unwrap();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    assert_eq!(read(folder.path(), identity(), NEXT_ROW).unwrap().unwrap().rows().len(), 120);
    remove(folder.path()).unwrap();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    assert_eq!(kind_of(folder.path(), identity(), NEXT_ROW), "missing");
}

#[test]
fn a_crash_between_two_steps_leaves_a_readable_snapshot() {
    let folder = with_snapshot();
    // Before the rename: an incomplete temporary folder.
    fs::create_dir(folder.path().join(FOLDERS.unfinished)).unwrap();
    fs::write(folder.path().join(FOLDERS.unfinished).join(VECTORS), "half").unwrap();
    assert_eq!(kind_of(folder.path(), identity(), NEXT_ROW), "loaded");
    assert!(!folder.path().join(FOLDERS.unfinished).exists());
    // After the rename: the older snapshot still exists.
    let older = folder.path().join("snapshot-00000000");
    fs::create_dir(&older).unwrap();
    assert_eq!(kind_of(folder.path(), identity(), NEXT_ROW), "loaded");
    write(folder.path(), identity().store, 2, &segment(120)).unwrap();
    assert!(!older.exists());
}

#[test]
fn incomplete_and_foreign_snapshots_are_rejected() {
    let damages: [(&str, Damage); 7] = [
        ("a torn manifest", |folder| cut(&file(folder, "manifest"))),
        ("a torn index", |folder| cut(&file(folder, VECTORS))),
        ("a flipped bit", |folder| flip(&file(folder, VECTORS))),
        ("a flipped bit in the manifest", |folder| flip(&file(folder, "manifest"))),
        ("no manifest", |folder| fs::remove_file(file(folder, "manifest")).unwrap()),
        ("no index", |folder| fs::remove_file(file(folder, VECTORS)).unwrap()),
        ("rows of another", |folder| take_manifest_of(folder, 99)),
    ];
    for (what, damage) in damages {
        let folder = with_snapshot();
        damage(folder.path());
        assert_eq!(kind_of(folder.path(), identity(), NEXT_ROW), "damaged", "{what}");
        write(folder.path(), identity().store, 2, &segment(100)).unwrap();
        assert_eq!(kind_of(folder.path(), identity(), NEXT_ROW), "loaded", "{what}");
    }
    let folder = with_snapshot();
    for (wanted, next_row) in [
        (Identity { store: Uuid::from_u128(2), ..identity() }, NEXT_ROW),
        (Identity { kind: VectorIndexKind::Hnsw { m: 16 }, ..identity() }, NEXT_ROW),
        (identity(), 198),
    ] {
        assert_eq!(kind_of(folder.path(), wanted, next_row), "foreign");
    }
}

#[test]
fn a_failed_write_keeps_the_older_snapshot() {
    let folder = with_snapshot();
    // A file in place of the folder, because a superuser may write to a read-only folder.
    fs::write(folder.path().join(FOLDERS.unfinished), "").unwrap();
    assert_eq!(write(folder.path(), identity().store, 2, &segment(120)).unwrap_err().kind(), "disk");
    fs::remove_file(folder.path().join(FOLDERS.unfinished)).unwrap();
    assert_eq!(read(folder.path(), identity(), NEXT_ROW).unwrap().unwrap().rows().len(), 100);
}

#[test]
fn a_snapshot_leaves_space_for_documents() {
    let folder = tempfile::tempdir().unwrap();
    require_room(folder.path(), 1, 1).unwrap();
    let refused = require_room(folder.path(), u64::MAX, 1).unwrap_err();
    assert_eq!(refused.kind(), "no_room");
}

fn cut(path: &Path) {
    let bytes = fs::read(path).unwrap();
    fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
}

fn flip(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(path, bytes).unwrap();
}

/// Replaces the manifest by one with `count` rows, with unchanged vectors.
fn take_manifest_of(folder: &Path, count: u64) {
    let (kind, rows) = (KIND.to_string(), (0..count).collect());
    let manifest = Manifest { store: identity().store, kind, dimensions: 2, rows };
    fs::write(file(folder, "manifest"), manifest.encode()).unwrap();
}

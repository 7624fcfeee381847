use std::os::unix::fs::symlink;
use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::SearchSettings;
use crate::archive::tests::{archive, rows};
use crate::archive::{IndexHeader, MAX_BLOCK_BYTES, Row};
use crate::catalog::CatalogOptions;
use crate::persisted::PersistedError;

fn catalog(folder: &Path) -> Catalog {
    let options = CatalogOptions {
        directory: folder.to_owned(),
        search: SearchSettings {
            exact_below_rows: 10_000,
            ef_search: 64,
            n_probe: None,
            language: ragengine_settings::TextLanguage::English,
        },
        max_indexes: 3,
        embedding: ragengine_settings::Embedding::default().source(),
        metrics: crate::metrics::IndexMetrics::unread(),
    };
    let catalog = Catalog::open(options).unwrap();
    catalog.load(|_| {}).unwrap();
    catalog
}

/// An archive of these indexes, each with the given number of one-chunk documents.
fn copy(indexes: &[(&str, usize)]) -> Vec<u8> {
    let with_rows = |(name, documents): &(&'static str, usize)| {
        let (header, rows) = rows(&vec![1; *documents]);
        (*name, header, rows)
    };
    archive(
        &indexes
            .iter()
            .map(|(name, documents)| with_rows(&(Box::leak(Box::from(*name)), *documents)))
            .collect::<Vec<_>>(),
    )
}

fn import(catalog: &Catalog, bytes: &[u8], existing: Existing) -> Result<usize, IndexError> {
    catalog.import(bytes, existing, MAX_BLOCK_BYTES, None).map(|made| made.len())
}

/// The rows of an archive, without its manifest.
fn rows_of(bytes: &[u8]) -> Vec<Row> {
    let mut all = Vec::new();
    read(bytes, MAX_BLOCK_BYTES, |piece| {
        if let Piece::Rows(rows) = piece {
            all.extend(rows);
        }
        Ok::<(), ArchiveError>(())
    })
    .unwrap();
    all
}

fn documents(catalog: &Catalog) -> Vec<(String, u64)> {
    catalog.all().iter().map(|index| (index.name().to_owned(), index.size().documents)).collect()
}

fn folders(data: &Path) -> usize {
    data.join("indexes").read_dir().unwrap().count()
}

fn named(pairs: &[(&str, u64)]) -> Vec<(String, u64)> {
    pairs.iter().map(|(name, documents)| ((*name).to_owned(), *documents)).collect()
}

#[test]
fn an_import_equals_the_export_and_survives_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let (header, rows) = rows(&[2, 0, 3]);
    // Including the settings of the embedding model.
    let header = IndexHeader { embedding: Some(ragengine_settings::Embedding::default().source()), ..header };
    let bytes = archive(&[("a", header.clone(), rows.clone())]);
    let first = catalog(folder.path());
    import(&first, &bytes, Existing::Keep).unwrap();
    let exported = |catalog: &Catalog| catalog.export(&catalog.all(), Vec::new()).unwrap();
    assert_eq!(rows_of(&exported(&first)), rows);
    drop(first);
    let second = catalog(folder.path());
    assert_eq!(rows_of(&exported(&second)), rows);
    let index = second.get("a").unwrap();
    assert_eq!(index.store.reader().unwrap().header(index.record()).unwrap(), header);
    // Derived data was rebuilt: the document is found by id, by hash and in memory.
    let reader = index.store.reader().unwrap();
    assert_eq!((reader.number("d7").unwrap(), index.size().chunks), (Some(7), 5));
    assert_eq!(reader.vector_by_hash(&[8; 32]).unwrap(), Some(vec![0.6, 0.8]));
    assert_eq!(index.source("s").sync.unwrap().sync_id, "1");
    // Numbers are not reused.
    assert_eq!(index.store.write(|transaction| transaction.next_document()).unwrap(), header.next_document);
    assert_eq!(index.store.write(|transaction| transaction.next_rows(1)).unwrap(), header.next_row);
}

#[test]
fn an_existing_index_is_kept_unless_it_is_to_be_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let catalog = catalog(folder.path());
    import(&catalog, &copy(&[("a", 1), ("b", 1)]), Existing::Keep).unwrap();
    let before = catalog.get("a").unwrap();
    let refused = import(&catalog, &copy(&[("c", 2), ("a", 2)]), Existing::Keep);
    assert!(matches!(refused, Err(IndexError::Exists(names)) if names == ["a"]));
    assert_eq!((documents(&catalog), folders(folder.path())), (named(&[("a", 1), ("b", 1)]), 2));
    import(&catalog, &copy(&[("c", 2), ("a", 2)]), Existing::Replace).unwrap();
    assert_eq!((documents(&catalog), folders(folder.path())), (named(&[("a", 2), ("b", 1), ("c", 2)]), 3));
    // Users of the replaced index cannot write to it and are sent to the new one.
    assert!(matches!(before.require_present(), Err(IndexError::Superseded(_))));
    let refused = import(&catalog, &copy(&[("a", 1), ("d", 1)]), Existing::Replace);
    assert!(matches!(refused, Err(IndexError::TooMany(3))));
}

#[test]
fn one_of_many_indexes_is_restored_and_the_others_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let catalog = catalog(folder.path());
    import(&catalog, &copy(&[("a", 1), ("b", 1)]), Existing::Keep).unwrap();
    let bytes = copy(&[("a", 5), ("b", 6), ("c", 7)]);
    let only = |name, existing| catalog.import(&*bytes, existing, MAX_BLOCK_BYTES, Some(name)).map(|made| made.len());
    assert!(matches!(only("b", Existing::Keep), Err(IndexError::Exists(names)) if names == ["b"]));
    assert_eq!(only("b", Existing::Replace).unwrap(), 1);
    assert_eq!((documents(&catalog), folders(folder.path())), (named(&[("a", 1), ("b", 6)]), 2));
    assert_eq!(only("c", Existing::Keep).unwrap(), 1);
    let refused = only("d", Existing::Replace).unwrap_err();
    assert_eq!(refused.to_string(), "there is no index 'd' in the backup: it has 'a', 'b', 'c'");
    assert_eq!(documents(&catalog), named(&[("a", 1), ("b", 6), ("c", 7)]));
    // The whole archive is read and must be complete.
    let cut = &bytes[..bytes.len() - 600];
    assert!(catalog.import(cut, Existing::Replace, MAX_BLOCK_BYTES, Some("a")).is_err());
    assert_eq!(documents(&catalog), named(&[("a", 1), ("b", 6), ("c", 7)]));
}

#[test]
fn an_unusable_archive_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let data = catalog(folder.path());
    import(&data, &copy(&[("a", 1)]), Existing::Keep).unwrap();
    let whole = copy(&[("a", 2), ("b", 2)]);
    let mut damaged = whole.clone();
    let place = damaged.windows(9).rposition(|bytes| bytes == b"text of 6").unwrap();
    damaged[place] ^= 1;
    let (header, mut twice) = rows(&[1, 1]);
    if let Row::Document { record, .. } = &mut twice[2] {
        record.doc_id = "d5".to_owned();
    }
    let twice = archive(&[("a", header, twice)]);
    for (bytes, kind) in [
        (&whole[..whole.len() - 4000], "archive_broken_off"),
        (&damaged, "archive_damaged"),
        (&twice, "archive_damaged"),
        (b"anything", "archive_foreign"),
    ] {
        assert_eq!(import(&data, bytes, Existing::Replace).unwrap_err().kind(), kind);
        assert_eq!((documents(&data), folders(folder.path())), (named(&[("a", 1)]), 1), "{kind}");
    }
    drop(data);
    assert_eq!(documents(&catalog(folder.path())), named(&[("a", 1)]));
}

#[test]
fn a_persisted_copy_is_loaded_under_any_name() {
    let folder = tempfile::tempdir().unwrap();
    let data = catalog(folder.path());
    import(&data, &copy(&[("a", 2)]), Existing::Keep).unwrap();
    data.persist("a", "monday").unwrap();
    assert!(folder.path().join("persisted/monday.tar").is_file());
    let load = |index: &str, copy: &str, existing| data.load_persisted(index, copy, existing, MAX_BLOCK_BYTES);
    assert!(matches!(load("a", "monday", Existing::Keep), Err(IndexError::Exists(_))));
    assert!(matches!(load("b", "tuesday", Existing::Keep), Err(IndexError::Persisted(PersistedError::Missing(_)))));
    let index = load("b", "monday", Existing::Keep).unwrap();
    assert_eq!((index.name(), index.size().documents), ("b", 2));
    // A copy replaces the previous one of the same name and leaves no other file.
    import(&data, &copy(&[("a", 3)]), Existing::Replace).unwrap();
    data.persist("a", "monday").unwrap();
    assert_eq!(load("b", "monday", Existing::Replace).unwrap().size().documents, 3);
    let persisted = folder.path().join("persisted");
    assert_eq!(persisted.read_dir().unwrap().count(), 1);
    std::fs::write(persisted.join("several.tar"), copy(&[("x", 1), ("y", 1)])).unwrap();
    assert!(matches!(load("b", "several", Existing::Replace), Err(IndexError::ManyIndexes { indexes: 2, .. })));
    // A killed process leaves an unfinished copy. The next start removes it and nothing else.
    for name in [".a.0.partial", "mine.partial", "notes.txt"] {
        std::fs::write(persisted.join(name), "x").unwrap();
    }
    drop((index, data));
    catalog(folder.path());
    let mut left: Vec<_> = persisted.read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["mine.partial", "monday.tar", "notes.txt", "several.tar"]);
}

#[test]
fn only_plain_files_are_read_and_written() {
    let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let data = catalog(folder.path());
    import(&data, &copy(&[("a", 1)]), Existing::Keep).unwrap();
    data.persist("a", "good").unwrap();
    let persisted = folder.path().join("persisted");
    let target = outside.path().join("secret.tar");
    std::fs::copy(persisted.join("good.tar"), &target).unwrap();
    symlink(&target, persisted.join("link.tar")).unwrap();
    symlink(outside.path(), persisted.join("away")).unwrap();
    std::fs::create_dir(persisted.join("folder.tar")).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, persisted.join("pipe.tar"), rustix::fs::FileType::Fifo, 0o600.into(), 0)
        .unwrap();
    let is_odd = |result: Result<(), IndexError>| matches!(result, Err(IndexError::Persisted(PersistedError::Odd(_))));
    let load = |copy: &str| data.load_persisted("b", copy, Existing::Keep, MAX_BLOCK_BYTES).map(drop);
    for copy in ["link", "folder", "pipe"] {
        assert!(is_odd(load(copy)), "{copy}");
    }
    // Writing replaces the link and does not affect its target.
    let before = std::fs::read(&target).unwrap();
    import(&data, &copy(&[("a", 2)]), Existing::Replace).unwrap();
    data.persist("a", "link").unwrap();
    assert!(!persisted.join("link.tar").is_symlink());
    assert_eq!(std::fs::read(&target).unwrap(), before);
    assert!(is_odd(data.persist("a", "folder").map(drop)));
    for name in NO_NAMES {
        let is_refused =
            |result: Result<(), IndexError>| matches!(result, Err(IndexError::Persisted(PersistedError::Name(_))));
        assert!(is_refused(load(name)) && is_refused(data.persist("a", name).map(drop)), "{name:?}");
    }
    std::fs::rename(&persisted, folder.path().join("moved")).unwrap();
    symlink(outside.path(), &persisted).unwrap();
    assert!(is_odd(load("secret")) && is_odd(data.persist("a", "new").map(drop)));
    assert_eq!(outside.path().read_dir().unwrap().count(), 1);
}

const NO_NAMES: [&str; 14] = [
    "",
    ".",
    "..",
    "../a",
    "a/b",
    "/etc/passwd",
    "..\\a",
    "a\0",
    "%2e%2e",
    "%2fetc",
    "．．",
    "a\u{2215}b",
    ".hidden",
    "a\n",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Any accepted name opens a file in the folder itself.
    #[test]
    fn no_name_reaches_anything_outside(name in "(\\.|/|\\.\\./|%2e|%2f|\\\\|\0|[a-c]|\\PC){0,12}") {
        let folder = tempfile::tempdir().unwrap();
        for outside in ["a.tar", "b.tar", "c.tar", ".tar"] {
            std::fs::write(folder.path().join(outside), "outside").unwrap();
        }
        let persisted = Persisted::open(folder.path()).unwrap();
        match persisted.write(&name) {
            Ok(partial) => {
                partial.finish().unwrap();
                let file = folder.path().join("persisted").join(format!("{name}.tar"));
                prop_assert!(file.is_file());
                prop_assert!(persisted.read(&name).is_ok());
            }
            Err(error) => {
                let is_refused = matches!(error, PersistedError::Name(_));
                prop_assert!(is_refused);
                let is_refused = matches!(persisted.read(&name), Err(PersistedError::Name(_)));
                prop_assert!(is_refused);
            }
        }
        prop_assert_eq!(folder.path().read_dir().unwrap().count(), 5);
        for outside in ["a.tar", "b.tar", "c.tar", ".tar"] {
            prop_assert_eq!(std::fs::read(folder.path().join(outside)).unwrap(), b"outside");
        }
    }

    #[test]
    fn an_index_of_any_shape_goes_out_and_in(chunks in proptest::collection::vec(0_u32..4, 0..6)) {
        let folder = tempfile::tempdir().unwrap();
        let catalog = catalog(folder.path());
        let (header, rows) = rows(&chunks);
        import(&catalog, &archive(&[("a", header, rows.clone())]), Existing::Keep).unwrap();
        prop_assert_eq!(rows_of(&catalog.export(&catalog.all(), Vec::new()).unwrap()), rows);
    }
}

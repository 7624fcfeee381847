use ragengine_settings::VectorIndexKind;

use super::*;

fn options(directory: &Path) -> CatalogOptions {
    CatalogOptions {
        directory: directory.to_owned(),
        search: SearchSettings { exact_below_rows: 10_000, ef_search: 64, n_probe: None },
        max_indexes: 3,
    }
}

fn open(directory: &Path) -> Catalog {
    let catalog = Catalog::open(options(directory)).unwrap();
    catalog.load(|_, _| {}).unwrap();
    catalog
}

fn record() -> IndexRecord {
    IndexRecord {
        model: "m".into(),
        embedding_fingerprint: "f".into(),
        dimensions: 2,
        max_tokens: 100,
        overlap_tokens: 10,
        vector_index: VectorIndexKind::Flat,
    }
}

#[test]
fn indexes_and_the_data_id_outlive_the_process() {
    let folder = tempfile::tempdir().unwrap();
    let catalog = open(folder.path());
    let data_id = catalog.data_id().to_owned();
    assert!(catalog.get_or_create("b", record).unwrap().1);
    assert!(catalog.get_or_create("a", record).unwrap().1);
    assert!(!catalog.get_or_create("a", record).unwrap().1);
    drop(catalog);
    let catalog = open(folder.path());
    assert_eq!(catalog.names(), ["a", "b"]);
    assert_eq!(catalog.data_id(), data_id);
}

#[test]
fn a_deleted_index_stays_deleted_and_its_folder_is_never_used_again() {
    let folder = tempfile::tempdir().unwrap();
    let catalog = open(folder.path());
    let (first, _) = catalog.get_or_create("a", record).unwrap();
    let old = first.directory.clone();
    catalog.delete("a").unwrap();
    assert!(!old.exists());
    assert!(matches!(catalog.get("a"), Err(IndexError::NoSuchIndex(_))));
    assert!(matches!(catalog.delete("a"), Err(IndexError::NoSuchIndex(_))));
    drop((catalog, first));
    let catalog = open(folder.path());
    assert_eq!(catalog.names(), Vec::<String>::new());
    let (again, _) = catalog.get_or_create("a", record).unwrap();
    assert_ne!(again.directory, old);
}

#[test]
fn what_an_interrupted_creation_left_behind_is_removed() {
    let folder = tempfile::tempdir().unwrap();
    drop(open(folder.path()));
    let orphan = folder.path().join("indexes/00000042");
    let foreign = folder.path().join("indexes/mine");
    fs::create_dir_all(&orphan).unwrap();
    fs::create_dir_all(&foreign).unwrap();
    drop(open(folder.path()));
    assert!(!orphan.exists());
    assert!(foreign.exists(), "a folder that is not ours is left alone");
}

#[test]
fn a_data_folder_has_one_owner() {
    let folder = tempfile::tempdir().unwrap();
    let _catalog = open(folder.path());
    assert!(matches!(Catalog::open(options(folder.path())), Err(IndexError::Store(StoreError::InUse))));
}

#[test]
fn there_are_only_so_many_indexes_and_only_good_names() {
    let folder = tempfile::tempdir().unwrap();
    let catalog = open(folder.path());
    assert!(matches!(catalog.get_or_create("../a", record), Err(IndexError::Name(_))));
    for name in ["a", "b", "c"] {
        catalog.get_or_create(name, record).unwrap();
    }
    assert!(matches!(catalog.get_or_create("d", record), Err(IndexError::TooMany(3))));
    catalog.delete("a").unwrap();
    assert!(catalog.get_or_create("d", record).is_ok());
}

#[test]
fn many_threads_make_one_index() {
    let folder = tempfile::tempdir().unwrap();
    let catalog = open(folder.path());
    let made: usize = std::thread::scope(|scope| {
        let makers: Vec<_> =
            (0..8).map(|_| scope.spawn(|| usize::from(catalog.get_or_create("a", record).unwrap().1))).collect();
        makers.into_iter().map(|maker| maker.join().unwrap()).sum()
    });
    assert_eq!((made, catalog.names().len()), (1, 1));
}

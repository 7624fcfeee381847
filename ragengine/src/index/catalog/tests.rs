use ragengine_settings::VectorIndexKind;

use super::*;

fn options(directory: &Path) -> CatalogOptions {
    CatalogOptions {
        directory: directory.to_owned(),
        search: SearchSettings { exact_below_rows: 10_000, ef_search: 64, n_probe: None },
        max_indexes: 3,
        embedding: ragengine_settings::Embedding::default().source(),
        metrics: Arc::new(Metrics::new(std::time::Duration::from_secs(1)).unwrap()),
    }
}

fn open(directory: &Path) -> Catalog {
    let catalog = Catalog::open(options(directory)).unwrap();
    catalog.load(|_| {}).unwrap();
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
    let Err(IndexError::Store(StoreError::InUse(holder))) = Catalog::open(options(folder.path())) else {
        panic!("two processes would write to one folder")
    };
    assert!(holder.contains(&format!("process {} on host", std::process::id())), "{holder}");
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

fn begin(catalog: &Catalog, max_tokens: u32) -> u64 {
    let target = IndexRecord { max_tokens, ..record() };
    catalog.change_plan("a", |_, _| Ok(Change::Begin(target))).unwrap();
    catalog.planned("a").unwrap().plan.folder().unwrap()
}

fn folders(directory: &Path) -> usize {
    fs::read_dir(directory.join("indexes")).unwrap().count()
}

#[test]
fn a_half_built_generation_outlives_the_process_and_takes_over_in_one_step() {
    let folder = tempfile::tempdir().unwrap();
    let catalog = open(folder.path());
    let (first, _) = catalog.get_or_create("a", record).unwrap();
    let number = begin(&catalog, 50);
    let started_at = catalog.next_generation("a").unwrap().started_at;
    let next = catalog.open_next("a", number).unwrap().unwrap();
    assert!(Arc::ptr_eq(&next, &catalog.open_next("a", number).unwrap().unwrap()));
    drop((next, first, catalog));

    let catalog = open(folder.path());
    let planned = catalog.next_generation("a").unwrap();
    assert_eq!((planned.settings.chunking.max_tokens, planned.started_at), (Some(50), started_at));
    let first = catalog.get("a").unwrap();
    let next = catalog.open_next("a", number).unwrap().unwrap();
    let take_over = |is_last| catalog.take_over(&first, &next, number, || Ok(is_last)).unwrap();
    assert_eq!(take_over(false), TookOver::NotYet);
    assert!(Arc::ptr_eq(&catalog.get("a").unwrap(), &first));
    assert_eq!(take_over(true), TookOver::Yes);
    assert!(Arc::ptr_eq(&catalog.get("a").unwrap(), &next) && catalog.planned("a").is_none());
    assert!(matches!(first.require_present(), Err(IndexError::Superseded(_))));
    assert_eq!((folders(folder.path()), take_over(true)), (1, TookOver::Stale));
    drop((next, first, catalog));
    assert_eq!(open(folder.path()).get("a").unwrap().record().max_tokens, 50);
}

#[test]
fn what_is_not_planned_any_more_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let catalog = open(folder.path());
    let (first, _) = catalog.get_or_create("a", record).unwrap();
    let changes: [fn(&Catalog); 4] = [
        |catalog| drop(catalog.change_plan("a", |_, _| Ok(Change::Drop)).unwrap()),
        |catalog| drop(catalog.change_plan("a", |_, _| Ok(Change::Abandon(record()))).unwrap()),
        |catalog| assert_ne!(begin(catalog, 60), 0),
        |catalog| catalog.delete("a").unwrap(),
    ];
    for change in changes {
        let number = begin(&catalog, 50);
        let next = catalog.open_next("a", number).unwrap().unwrap();
        change(&catalog);
        assert!(catalog.open_next("a", number).unwrap().is_none());
        assert_eq!(catalog.take_over(&first, &next, number, || Ok(true)).unwrap(), TookOver::Stale);
        assert!(next.require_present().is_err() && !next.directory.exists());
    }
    assert_eq!(folders(folder.path()), 0);
}

#[test]
fn a_half_built_generation_that_cannot_be_read_is_begun_anew() {
    let folder = tempfile::tempdir().unwrap();
    let catalog = open(folder.path());
    catalog.get_or_create("a", record).unwrap();
    let number = begin(&catalog, 50);
    let path = catalog.path(number);
    drop(catalog.open_next("a", number).unwrap());
    drop(catalog);
    fs::write(path.join("store.redb"), "nonsense").unwrap();
    let catalog = open(folder.path());
    let next = catalog.open_next("a", number).unwrap().unwrap();
    assert_eq!((next.record().max_tokens, next.size().documents), (50, 0));
}

/// The ways in which a file may be damaged.
fn damages() -> [fn(&Path); 4] {
    [
        |file| fs::write(file, vec![0; fs::metadata(file).unwrap().len() as usize]).unwrap(),
        |file| fs::File::options().write(true).open(file).unwrap().set_len(5000).unwrap(),
        |file| {
            let flipped: Vec<u8> = fs::read(file).unwrap().iter().map(|byte| !byte).collect();
            fs::write(file, flipped).unwrap();
        },
        |file| fs::remove_file(file).unwrap(),
    ]
}

#[test]
fn a_damaged_index_is_kept_apart_and_the_others_serve() {
    for damage in damages() {
        let folder = tempfile::tempdir().unwrap();
        let catalog = open(folder.path());
        catalog.get_or_create("good", record).unwrap();
        let directory = catalog.get_or_create("bad", record).unwrap().0.directory.clone();
        drop(catalog);
        damage(&directory.join("store.redb"));
        let catalog = open(folder.path());
        assert_eq!(catalog.names(), ["bad", "good"]);
        assert!(catalog.get("good").is_ok());
        assert!(catalog.problems()[0].contains("index 'bad'"), "{:?}", catalog.problems());
        assert!(matches!(catalog.get("bad"), Err(IndexError::Unavailable { .. })));
        assert!(matches!(catalog.get_or_create("bad", record), Err(IndexError::Unavailable { .. })));
        assert!(matches!(catalog.all_or_none(), Err(IndexError::Unavailable { .. })));
        // It is not deleted, and neither opened again nor replaced: a person has to look at it.
        assert!(directory.exists() && !catalog.may_heal(), "{:?}", catalog.problems());
        catalog.delete("bad").unwrap();
        assert!(!directory.exists() && catalog.problems().is_empty());
        assert!(catalog.get_or_create("bad", record).unwrap().1);
    }
}

#[test]
fn what_the_disk_refused_is_opened_again() {
    let folder = tempfile::tempdir().unwrap();
    let catalog = open(folder.path());
    let (sick, _) = catalog.get_or_create("sick", record).unwrap();
    let (well, _) = catalog.get_or_create("well", record).unwrap();
    assert!(!catalog.may_heal());
    sick.has_failed.store(true, Ordering::Release);
    catalog.has_failed.store(true, Ordering::Release);
    assert_eq!(catalog.problems().len(), 2);
    assert!(catalog.heal() && catalog.problems().is_empty());
    let again = catalog.get("sick").unwrap();
    assert!(!Arc::ptr_eq(&again, &sick) && !again.has_failed());
    // Whoever still has the one before is told so; the others have noticed nothing.
    assert!(matches!(sick.store.reader(), Err(StoreError::Latched)));
    assert!(Arc::ptr_eq(&catalog.get("well").unwrap(), &well));
    assert!(catalog.get_or_create("new", record).unwrap().1);
}

#[test]
fn an_index_whose_disk_does_not_answer_is_tried_again() {
    let folder = tempfile::tempdir().unwrap();
    let catalog = open(folder.path());
    let (index, _) = catalog.get_or_create("a", record).unwrap();
    let file = index.directory.join("store.redb");
    drop((catalog, index));
    // Whoever holds the file is no damage.
    let holder = open_database(&file).unwrap();
    let catalog = open(folder.path());
    assert!(catalog.may_heal() && !catalog.heal());
    drop(holder);
    assert!(catalog.heal() && catalog.get("a").is_ok());
}

#[test]
fn a_newer_format_is_refused_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let catalog = open(folder.path());
    let (index, _) = catalog.get_or_create("a", record).unwrap();
    let store = index.directory.join("store.redb");
    drop((catalog, index));
    for path in [store, folder.path().join("catalog.redb")] {
        set_format(&path, "9");
        let catalog = Catalog::open(options(folder.path()));
        // The catalog's is refused as a whole, an index's for itself.
        let words = match catalog {
            Ok(catalog) => {
                catalog.load(|_| {}).unwrap();
                catalog.problems().concat()
            }
            Err(refused) => refused.to_string(),
        };
        assert!(words.contains("format 9") && words.contains("use the version that wrote it"), "{words}");
    }
}

/// Both kinds of file have a table `meta` with a `format`.
fn set_format(path: &Path, format: &str) {
    let database = open_database(path).unwrap();
    let transaction = database.begin_write().unwrap();
    let of_a_store = TableDefinition::<&str, &[u8]>::new("meta");
    let is_store = path.ends_with("store.redb");
    if is_store {
        transaction.open_table(of_a_store).unwrap().insert("format", format.as_bytes()).unwrap();
    } else {
        transaction.open_table(META).unwrap().insert("format", format).unwrap();
    }
    transaction.commit().unwrap();
}

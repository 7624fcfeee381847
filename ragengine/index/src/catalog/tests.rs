use ragengine_client::wire::Document;

use redb::TableDefinition;

use super::tables::META;
use super::*;
use crate::chunking::Chunk;
use crate::vectors::tests::refuse;
use crate::writer::{Embedded, Limits, check_documents};

fn options(directory: &Path) -> CatalogOptions {
    CatalogOptions {
        directory: directory.to_owned(),
        search: SearchSettings {
            exact_below_rows: 10_000,
            ef_search: 64,
            n_probe: None,
            language: ragengine_settings::TextLanguage::English,
        },
        max_indexes: 3,
        embedding: ragengine_settings::Embedding::default().source(),
        metrics: crate::metrics::IndexMetrics::unread(),
    }
}

fn open(directory: &Path) -> Catalog {
    let catalog = Catalog::open(options(directory)).unwrap();
    catalog.load(|_| {}).unwrap();
    catalog
}

/// Writes a document with one chunk.
pub fn put(index: &Arc<Index>, doc_id: &str) -> Result<(), IndexError> {
    let document = Document { doc_id: Some(doc_id.into()), text: doc_id.into(), ..Document::default() };
    let limits = Limits {
        max_documents: 1,
        max_document_bytes: 100,
        max_metadata_bytes: 100,
        cut_timeout: std::time::Duration::from_secs(9),
    };
    let chunk = Chunk { heading: None, page: None, text: doc_id.into() };
    let document = check_documents(vec![document], limits, &ragengine_compute::Waiter::default()).unwrap().remove(0);
    index.put_vectors(vec![Embedded { document, chunks: vec![(chunk, vec![1.0, 0.0])] }])
}

#[test]
fn indexes_and_the_data_id_survive_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let catalog = open(folder.path());
    let data_id = catalog.data_id().to_owned();
    assert!(catalog.get_or_create("b", IndexRecord::of_two_dimensions).unwrap().1);
    assert!(catalog.get_or_create("a", IndexRecord::of_two_dimensions).unwrap().1);
    assert!(!catalog.get_or_create("a", IndexRecord::of_two_dimensions).unwrap().1);
    drop(catalog);
    let catalog = open(folder.path());
    assert_eq!(catalog.names(), ["a", "b"]);
    assert_eq!(catalog.data_id(), data_id);
}

#[test]
fn a_deleted_index_stays_deleted_and_its_folder_is_never_reused() {
    let folder = tempfile::tempdir().unwrap();
    let catalog = open(folder.path());
    let (first, _) = catalog.get_or_create("a", IndexRecord::of_two_dimensions).unwrap();
    let old = first.directory.clone();
    catalog.delete("a").unwrap();
    assert!(!old.exists());
    assert!(matches!(catalog.get("a"), Err(IndexError::NoSuchIndex(_))));
    assert!(matches!(catalog.delete("a"), Err(IndexError::NoSuchIndex(_))));
    drop((catalog, first));
    let catalog = open(folder.path());
    assert_eq!(catalog.names(), Vec::<String>::new());
    let (again, _) = catalog.get_or_create("a", IndexRecord::of_two_dimensions).unwrap();
    assert_ne!(again.directory, old);
}

#[test]
fn an_unfinished_index_is_removed_at_start() {
    let folder = tempfile::tempdir().unwrap();
    let catalog = open(folder.path());
    let orphan = catalog.path(catalog.take_folder().unwrap());
    drop(catalog);
    let foreign = folder.path().join("indexes/mine");
    fs::create_dir_all(&orphan).unwrap();
    fs::create_dir_all(&foreign).unwrap();
    drop(open(folder.path()));
    assert!(!orphan.exists());
    assert!(foreign.exists(), "folders of others are kept");
}

#[test]
fn a_data_folder_is_locked() {
    let folder = tempfile::tempdir().unwrap();
    let _catalog = open(folder.path());
    let Err(IndexError::Store(StoreError::InUse(holder))) = Catalog::open(options(folder.path())) else {
        panic!("two processes would write to one folder")
    };
    assert!(holder.contains(&format!("process {} on host", std::process::id())), "{holder}");
}

#[test]
fn the_number_and_the_names_of_indexes_are_limited() {
    let folder = tempfile::tempdir().unwrap();
    let catalog = open(folder.path());
    assert!(matches!(catalog.get_or_create("../a", IndexRecord::of_two_dimensions), Err(IndexError::Name(_))));
    for name in ["a", "b", "c"] {
        catalog.get_or_create(name, IndexRecord::of_two_dimensions).unwrap();
    }
    assert!(matches!(catalog.get_or_create("d", IndexRecord::of_two_dimensions), Err(IndexError::TooMany(3))));
    catalog.delete("a").unwrap();
    assert!(catalog.get_or_create("d", IndexRecord::of_two_dimensions).is_ok());
}

#[test]
fn concurrent_creations_make_one_index() {
    let folder = tempfile::tempdir().unwrap();
    let catalog = open(folder.path());
    let made: usize = std::thread::scope(|scope| {
        let makers: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| usize::from(catalog.get_or_create("a", IndexRecord::of_two_dimensions).unwrap().1)))
            .collect();
        makers.into_iter().map(|maker| maker.join().unwrap()).sum()
    });
    assert_eq!((made, catalog.names().len()), (1, 1));
}

fn begin(catalog: &Catalog, max_tokens: u32) -> u64 {
    let target = IndexRecord { max_tokens, ..IndexRecord::of_two_dimensions() };
    catalog.change_plan("a", |_, _| Ok(PlanChange::Begin(target))).unwrap();
    catalog.planned("a").unwrap().plan.folder().unwrap()
}

fn folders(directory: &Path) -> usize {
    fs::read_dir(directory.join("indexes")).unwrap().count()
}

#[test]
fn an_unfinished_generation_survives_a_restart_and_switches_over_in_one_step() {
    let folder = tempfile::tempdir().unwrap();
    let catalog = open(folder.path());
    let (first, _) = catalog.get_or_create("a", IndexRecord::of_two_dimensions).unwrap();
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
fn a_dropped_plan_leaves_no_files() {
    let folder = tempfile::tempdir().unwrap();
    let catalog = open(folder.path());
    let (first, _) = catalog.get_or_create("a", IndexRecord::of_two_dimensions).unwrap();
    let changes: [fn(&Catalog); 4] = [
        |catalog| drop(catalog.change_plan("a", |_, _| Ok(PlanChange::Drop)).unwrap()),
        |catalog| {
            let abandon = PlanChange::Abandon(IndexRecord::of_two_dimensions());
            drop(catalog.change_plan("a", |_, _| Ok(abandon)).unwrap());
        },
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
fn an_unreadable_unfinished_generation_is_rebuilt() {
    let folder = tempfile::tempdir().unwrap();
    let catalog = open(folder.path());
    catalog.get_or_create("a", IndexRecord::of_two_dimensions).unwrap();
    let number = begin(&catalog, 50);
    let path = catalog.path(number);
    drop(catalog.open_next("a", number).unwrap());
    drop(catalog);
    fs::write(path.join("store.redb"), "nonsense").unwrap();
    let catalog = open(folder.path());
    let next = catalog.open_next("a", number).unwrap().unwrap();
    assert_eq!((next.record().max_tokens, next.size().documents), (50, 0));
}

#[test]
fn an_unfinished_generation_survives_a_failure_of_the_disk() {
    let folder = tempfile::tempdir().unwrap();
    let catalog = open(folder.path());
    catalog.get_or_create("a", IndexRecord::of_two_dimensions).unwrap();
    let number = begin(&catalog, 50);
    let next = catalog.open_next("a", number).unwrap().unwrap();
    let id = next.store.id();
    // Another user still has the old store when it is reopened.
    next.store.fail();
    let again = catalog.open_next("a", number).unwrap().unwrap();
    assert!(!Arc::ptr_eq(&again, &next) && !again.has_failed());
    assert!(matches!(next.store.reader(), Err(StoreError::Latched)));
    assert_eq!(again.store.id(), id, "it was kept, not rebuilt");
    again.store.fail();
    again.store.close();
    let holder = DatabaseFile::open(&again.directory.join("store.redb")).unwrap();
    assert!(matches!(catalog.open_next("a", number), Err(IndexError::Store(StoreError::InUse(_)))));
    drop(holder);
    assert_eq!(catalog.open_next("a", number).unwrap().unwrap().store.id(), id);
}

/// Ways to damage a file.
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
fn a_damaged_index_is_set_apart_and_the_others_serve() {
    for damage in damages() {
        let folder = tempfile::tempdir().unwrap();
        let catalog = open(folder.path());
        catalog.get_or_create("good", IndexRecord::of_two_dimensions).unwrap();
        let directory = catalog.get_or_create("bad", IndexRecord::of_two_dimensions).unwrap().0.directory.clone();
        drop(catalog);
        damage(&directory.join("store.redb"));
        let catalog = open(folder.path());
        assert_eq!(catalog.names(), ["bad", "good"]);
        assert!(catalog.get("good").is_ok());
        assert!(catalog.problems()[0].contains("index 'bad'"), "{:?}", catalog.problems());
        assert!(matches!(catalog.get("bad"), Err(IndexError::Unavailable { .. })));
        assert!(matches!(
            catalog.get_or_create("bad", IndexRecord::of_two_dimensions),
            Err(IndexError::Unavailable { .. })
        ));
        assert!(matches!(catalog.all_or_none(), Err(IndexError::Unavailable { .. })));
        // It is neither deleted nor reopened nor replaced: a person must act.
        assert!(directory.exists() && !catalog.may_heal(), "{:?}", catalog.problems());
        catalog.delete("bad").unwrap();
        assert!(!directory.exists() && catalog.problems().is_empty());
        assert!(catalog.get_or_create("bad", IndexRecord::of_two_dimensions).unwrap().1);
    }
}

#[test]
fn everything_that_the_disk_refused_is_reopened() {
    let folder = tempfile::tempdir().unwrap();
    let catalog = open(folder.path());
    let (sick, _) = catalog.get_or_create("sick", IndexRecord::of_two_dimensions).unwrap();
    let (well, _) = catalog.get_or_create("well", IndexRecord::of_two_dimensions).unwrap();
    assert!(!catalog.may_heal());
    sick.store.fail();
    catalog.database.fail();
    assert_eq!(catalog.problems().len(), 2);
    let names: Vec<String> = catalog.heal().iter().map(|index| index.name().to_owned()).collect();
    assert_eq!((names, catalog.problems().len()), (vec!["sick".to_owned()], 0));
    let again = catalog.get("sick").unwrap();
    assert!(!Arc::ptr_eq(&again, &sick) && !again.has_failed());
    // Users of the old store get errors. The other index is unaffected.
    assert!(matches!(sick.store.reader(), Err(StoreError::Latched)));
    assert!(Arc::ptr_eq(&catalog.get("well").unwrap(), &well));
    assert!(catalog.get_or_create("new", IndexRecord::of_two_dimensions).unwrap().1);
}

#[test]
fn an_index_whose_disk_failed_is_retried() {
    let folder = tempfile::tempdir().unwrap();
    let catalog = open(folder.path());
    let (index, _) = catalog.get_or_create("a", IndexRecord::of_two_dimensions).unwrap();
    let file = index.directory.join("store.redb");
    drop((catalog, index));
    // A file that is in use is not damaged.
    let holder = DatabaseFile::open(&file).unwrap();
    let catalog = open(folder.path());
    assert!(catalog.may_heal() && catalog.heal().is_empty() && catalog.may_heal());
    drop(holder);
    assert!(catalog.heal().len() == 1 && catalog.get("a").is_ok());
}

#[test]
fn a_newer_format_is_rejected_with_advice() {
    let folder = tempfile::tempdir().unwrap();
    let catalog = open(folder.path());
    let (index, _) = catalog.get_or_create("a", IndexRecord::of_two_dimensions).unwrap();
    let store = index.directory.join("store.redb");
    drop((catalog, index));
    for path in [store, folder.path().join("catalog.redb")] {
        set_format(&path, "9");
        let catalog = Catalog::open(options(folder.path()));
        // A newer catalog is rejected as a whole, a newer index alone.
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
    let database = DatabaseFile::open(path).unwrap();
    let transaction = database.get().unwrap().begin_write().unwrap();
    let of_a_store = TableDefinition::<&str, &[u8]>::new("meta");
    let is_store = path.ends_with("store.redb");
    if is_store {
        transaction.open_table(of_a_store).unwrap().insert("format", format.as_bytes()).unwrap();
    } else {
        transaction.open_table(META).unwrap().insert("format", format).unwrap();
    }
    transaction.commit().unwrap();
}

/// The index was created for documents that could not be added, while another client writes to it.
#[test]
fn an_index_with_a_concurrent_write_is_not_deleted_as_empty() {
    let folder = tempfile::tempdir().unwrap();
    let catalog = open(folder.path());
    for round in 0..30 {
        let (index, is_new) = catalog.get_or_create("a", IndexRecord::of_two_dimensions).unwrap();
        assert!(is_new);
        let is_written = std::thread::scope(|scope| {
            let writer = scope.spawn(|| put(&index, "x").is_ok());
            // Concurrently, or after the write.
            while round % 2 == 1 && index.size().documents == 0 {
                std::thread::yield_now();
            }
            catalog.delete_if_unused(&index).unwrap();
            writer.join().unwrap()
        });
        assert_eq!(catalog.get("a").is_ok(), is_written, "the first of both wins");
        catalog.delete("a").ok();
    }
}

/// An index that is not in the catalog would be taken for a deleted one.
#[test]
fn a_lost_or_older_catalog_deletes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(CATALOG_FILE);
    let catalog = open(folder.path());
    catalog.get_or_create("a", IndexRecord::of_two_dimensions).unwrap();
    drop(catalog);
    let older = fs::read(&file).unwrap();
    let catalog = open(folder.path());
    catalog.get_or_create("b", IndexRecord::of_two_dimensions).unwrap();
    drop(catalog);
    let latest = fs::read(&file).unwrap();
    let changes: [(&str, &dyn Fn()); 4] = [
        ("is missing or empty", &|| fs::remove_file(&file).unwrap()),
        ("is missing or empty", &|| fs::write(&file, "").unwrap()),
        ("is older than the indexes", &|| fs::write(&file, &older).unwrap()),
        ("is damaged", &|| fs::write(&file, vec![7; latest.len()]).unwrap()),
    ];
    for (words, change) in changes {
        change();
        let refused = Catalog::open(options(folder.path())).err().unwrap();
        assert_eq!(refused.kind(), "catalog_damaged");
        assert!(refused.to_string().contains(words) && refused.to_string().contains(CATALOG_FILE), "{refused}");
        assert_eq!(folders(folder.path()), 2, "{words}");
    }
    fs::write(&file, latest).unwrap();
    assert_eq!(open(folder.path()).names(), ["a", "b"]);
}

/// The empty index was deleted or replaced in the meantime.
#[test]
fn a_successor_of_an_empty_index_is_not_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let catalog = open(folder.path());
    let (empty, _) = catalog.get_or_create("a", IndexRecord::of_two_dimensions).unwrap();
    catalog.delete("a").unwrap();
    catalog.delete_if_unused(&empty).unwrap();
    assert!(matches!(put(&empty, "x"), Err(IndexError::NoSuchIndex(_))), "it stays deleted");
    let (other, is_new) = catalog.get_or_create("a", IndexRecord::of_two_dimensions).unwrap();
    assert!(is_new);
    catalog.delete_if_unused(&empty).unwrap();
    assert!(Arc::ptr_eq(&catalog.get("a").unwrap(), &other));
    put(&other, "x").unwrap();
}

/// The index was created for documents that could not be added, but another client knows of it.
#[test]
fn an_index_that_a_client_knows_of_is_kept() {
    use ragengine_client::wire::{PutSourceSync, SyncPhase};
    let acknowledged: [fn(&Catalog, &Arc<Index>); 4] = [
        |catalog, _| assert!(!catalog.get_or_keep("a", IndexRecord::of_two_dimensions).unwrap().1),
        |_, index| {
            let put = PutSourceSync::new("1", SyncPhase::Complete);
            drop(index.put_sync("s", put, &crate::sources::Moment::now()).unwrap());
        },
        |_, index| {
            put(index, "x").unwrap();
            assert_eq!(index.remove(vec!["x".to_owned()]).unwrap(), [true]);
        },
        |_, index| {
            refuse(1);
            assert!(matches!(put(index, "x"), Err(IndexError::NotShown { .. })));
        },
    ];
    for acknowledge in acknowledged {
        let folder = tempfile::tempdir().unwrap();
        let catalog = open(folder.path());
        let (index, is_new) = catalog.get_or_create("a", IndexRecord::of_two_dimensions).unwrap();
        assert!(is_new);
        acknowledge(&catalog, &index);
        catalog.delete_if_unused(&index).unwrap();
        assert!(catalog.get("a").is_ok_and(|there| Arc::ptr_eq(&there, &index)));
        catalog.delete("a").unwrap();
        let (unused, _) = catalog.get_or_create("a", IndexRecord::of_two_dimensions).unwrap();
        catalog.delete_if_unused(&unused).unwrap();
        assert!(catalog.get("a").is_err(), "an index that no client knows of is deleted");
    }
}

#[test]
fn an_index_that_is_requested_during_a_deletion_exists() {
    let folder = tempfile::tempdir().unwrap();
    let catalog = open(folder.path());
    for _ in 0..30 {
        let (made, _) = catalog.get_or_create("a", IndexRecord::of_two_dimensions).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| catalog.get_or_keep("a", IndexRecord::of_two_dimensions).unwrap());
            catalog.delete_if_unused(&made).unwrap();
        });
        assert!(catalog.get("a").is_ok_and(|index| index.require_present().is_ok()));
        catalog.delete("a").unwrap();
    }
}

#[test]
fn changes_that_could_not_be_shown_are_reported_and_shown_without_reopening() {
    let folder = tempfile::tempdir().unwrap();
    let catalog = open(folder.path());
    let (index, _) = catalog.get_or_create("a", IndexRecord::of_two_dimensions).unwrap();
    refuse(1);
    assert!(put(&index, "x").is_err());
    assert!(catalog.may_heal() && catalog.problems()[0].contains("do not find"), "{:?}", catalog.problems());
    assert!(catalog.heal().is_empty());
    assert!(Arc::ptr_eq(&catalog.get("a").unwrap(), &index) && !catalog.may_heal());
    assert_eq!(index.size().documents, 1);
}

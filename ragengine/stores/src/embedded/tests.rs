use std::fs;

use super::*;
use crate::{FeedbackStore, StoreMetrics, VoteQuery};

fn opened(folder: &Path) -> Result<Arc<Embedded>, StoreError> {
    Embedded::open(folder)
}

fn error(folder: &Path) -> StoreError {
    opened(folder).err().unwrap()
}

#[test]
fn a_damaged_file_is_named_and_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(FILE);
    drop(opened(folder.path()).unwrap());
    let sound = fs::read(&path).unwrap();
    let mut overwritten = sound.clone();
    overwritten[..4096].fill(0xa5);
    for damaged in [b"not a database at all".to_vec(), overwritten, sound[..sound.len() / 2].to_vec()] {
        fs::write(&path, &damaged).unwrap();
        let error = error(folder.path());
        assert_eq!(error.kind(), "damaged", "{error:?}");
        let words = error.to_string();
        assert!(words.contains(&path.display().to_string()) && words.contains("move it"), "{words}");
        assert_eq!(fs::read(&path).unwrap().len(), damaged.len());
    }
    fs::write(&path, &sound).unwrap();
    opened(folder.path()).unwrap();
}

#[test]
fn only_one_may_open_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let first = opened(folder.path()).unwrap();
    let second = error(folder.path());
    assert_eq!(second.kind(), "in_use");
    assert!(second.to_string().contains("state.redb is in use"), "{second}");
    drop(first);
    opened(folder.path()).unwrap();
}

#[test]
fn a_newer_format_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    drop(opened(folder.path()).unwrap());
    let database = Database::open(folder.path().join(FILE)).unwrap();
    let transaction = database.begin_write().unwrap();
    let meta = redb::TableDefinition::<&str, &str>::new("meta");
    transaction.open_table(meta).unwrap().insert("format", "2").unwrap();
    transaction.commit().unwrap();
    drop(database);
    assert_eq!(error(folder.path()).kind(), "newer_schema");
}

#[test]
fn the_file_is_private() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let _embedded = opened(folder.path()).unwrap();
    let mode = fs::metadata(folder.path().join(FILE)).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[tokio::test]
async fn the_file_is_reopened_after_the_disk_refused_an_operation() {
    let folder = tempfile::tempdir().unwrap();
    let embedded = opened(folder.path()).unwrap();
    let metrics = StoreMetrics::new(&mut ragengine_metrics::Builder::new(std::time::Duration::ZERO).unwrap()).unwrap();
    let store = FeedbackStore::embedded(Arc::clone(&embedded), metrics);
    embedded.fail();
    store.list(VoteQuery { limit: 1, ..VoteQuery::default() }).await.unwrap();
    assert!(!embedded.has_failed.load(Ordering::Acquire));
}

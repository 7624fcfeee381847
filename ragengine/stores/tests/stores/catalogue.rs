//! The indexes of the catalogue. Each behaviour begins with an empty one.

use std::pin::Pin;

use ragengine_metrics::prometheus;
use ragengine_stores::{Begun, CatalogueIndex, IndexCatalogue, NewIndex, Postgres, PostgresOptions, Published};

use crate::backends::{counted, metrics, now_ms};
use crate::catalogue_syncs;
use crate::test_postgres::TestPostgres;

/// More indexes than a test makes.
pub const MANY: u32 = 100;

/// A catalogue and its metrics.
pub struct Catalogue {
    pub store: IndexCatalogue,
    registry: prometheus::Registry,
}

impl Catalogue {
    pub async fn open(options: &PostgresOptions) -> Self {
        let (metrics, registry) = metrics();
        let postgres = Postgres::open(options).await.unwrap();
        Self { store: IndexCatalogue::new(postgres, metrics), registry }
    }

    /// The number of counted operations.
    pub fn counted(&self, outcome: &str) -> u64 {
        counted(&self.registry, "catalogue", outcome)
    }

    /// Begins an index that is not ready yet.
    pub async fn begun(&self, name: &str) -> CatalogueIndex {
        match self.store.begin(new(name), MANY).await.unwrap() {
            Begun::Made(index) => index,
            other => panic!("{name}: {other:?}"),
        }
    }

    /// Makes an index.
    pub async fn made(&self, name: &str) -> CatalogueIndex {
        let index = self.begun(name).await;
        assert!(self.store.finish(index.number).await.unwrap());
        index
    }

    /// The names of all indexes that are ready.
    pub async fn names(&self) -> Vec<String> {
        self.store.all().await.unwrap().into_iter().map(|index| index.name).collect()
    }
}

pub fn new(name: &str) -> NewIndex {
    NewIndex {
        name: name.to_owned(),
        store_id: "7d3a4f0e-7f6c-4a55-9f0e-1f4a3b0c9d11".to_owned(),
        record: r#"{"a":1}"#.to_owned(),
        embedding: None,
    }
}

type Behaviour = fn(Catalogue) -> Pin<Box<dyn Future<Output = ()>>>;

macro_rules! behaviours {
    ($($behaviour:path,)*) => {
        &[$((stringify!($behaviour), |catalogue| Box::pin($behaviour(catalogue)))),*]
    };
}

const BEHAVIOURS: &[(&str, Behaviour)] = behaviours![
    an_index_is_shown_when_it_is_finished,
    indexes_are_in_the_order_of_their_names,
    an_interrupted_creation_is_continued_with_its_own_record,
    only_so_many_indexes_are_made,
    a_deleted_index_is_made_again_with_another_number,
    an_interrupted_deletion_is_listed_until_it_is_finished,
    changes_are_counted_from_the_time_on,
    a_staged_index_is_shown_when_it_is_published,
    any_text_is_stored,
    operations_are_counted,
    catalogue_syncs::a_source_is_kept_as_it_was_updated,
    catalogue_syncs::a_refused_update_changes_nothing,
    catalogue_syncs::sources_are_in_the_order_of_their_names,
    catalogue_syncs::sources_go_with_their_index,
    catalogue_syncs::a_task_has_one_holder_at_a_time,
    catalogue_syncs::an_index_is_swept_by_one_server_after_the_given_time,
];

#[tokio::test]
async fn the_catalogue_behaves_as_specified() {
    let server = TestPostgres::start();
    for (name, behaviour) in BEHAVIOURS {
        eprintln!("{name}");
        behaviour(Catalogue::open(&server.options(name)).await).await;
    }
}

async fn an_index_is_shown_when_it_is_finished(catalogue: Catalogue) {
    let store = &catalogue.store;
    let embedding = Some(r#"{"model":"m"}"#.to_owned());
    let new = NewIndex { embedding: embedding.clone(), ..new("docs") };
    let Begun::Made(begun) = store.begin(new.clone(), MANY).await.unwrap() else { panic!("not made") };
    assert_eq!((&begun.name, &begun.store_id, &begun.record), (&new.name, &new.store_id, &new.record));
    assert_eq!(begun.embedding, embedding);
    assert_eq!((store.get("docs").await.unwrap(), store.all().await.unwrap()), (None, Vec::new()));
    assert!(store.finish(begun.number).await.unwrap());
    assert_eq!(store.get("docs").await.unwrap(), Some(begun.clone()));
    assert_eq!(store.all().await.unwrap(), std::slice::from_ref(&begun));
    assert_eq!(store.begin(new, MANY).await.unwrap(), Begun::There(begun.clone()));
    assert!(store.finish(begun.number).await.unwrap());
    assert_eq!(store.get("other").await.unwrap(), None);
    assert!(!store.finish(begun.number + 1).await.unwrap());
}

async fn indexes_are_in_the_order_of_their_names(catalogue: Catalogue) {
    for name in ["é", "a", "B", "b", "a1"] {
        catalogue.made(name).await;
    }
    assert_eq!(catalogue.names().await, ["B", "a", "a1", "b", "é"]);
}

async fn an_interrupted_creation_is_continued_with_its_own_record(catalogue: Catalogue) {
    let store = &catalogue.store;
    let begun = catalogue.begun("docs").await;
    let later = NewIndex { record: "{}".to_owned(), store_id: "other".to_owned(), ..new("docs") };
    assert_eq!(store.begin(later.clone(), MANY).await.unwrap(), Begun::Made(begun.clone()));
    // It counts already, so it is no further one.
    assert_eq!(store.begin(later.clone(), 1).await.unwrap(), Begun::Made(begun.clone()));
    assert!(store.finish(begun.number).await.unwrap());
    assert_eq!(store.begin(later, 1).await.unwrap(), Begun::There(begun));
}

async fn only_so_many_indexes_are_made(catalogue: Catalogue) {
    let store = &catalogue.store;
    assert_eq!(store.begin(new("a"), 0).await.unwrap(), Begun::TooMany);
    catalogue.made("a").await;
    catalogue.begun("b").await;
    assert_eq!(store.begin(new("c"), 2).await.unwrap(), Begun::TooMany);
    assert!(matches!(store.begin(new("a"), 2).await.unwrap(), Begun::There(_)));
    store.begin_deletion("a").await.unwrap().unwrap();
    assert!(matches!(store.begin(new("c"), 2).await.unwrap(), Begun::Made(_)));
    assert_eq!(store.begin(new("a"), 2).await.unwrap(), Begun::TooMany);
}

async fn a_deleted_index_is_made_again_with_another_number(catalogue: Catalogue) {
    let store = &catalogue.store;
    let first = catalogue.made("docs").await;
    assert_eq!(store.begin_deletion("docs").await.unwrap(), Some(first.clone()));
    assert_eq!((store.get("docs").await.unwrap(), store.all().await.unwrap()), (None, Vec::new()));
    assert_eq!(store.begin_deletion("docs").await.unwrap(), None);
    assert!(!store.finish(first.number).await.unwrap());
    assert!(!store.begin_change(first.number).await.unwrap());
    let second = catalogue.made("docs").await;
    assert!(second.number != first.number && second.changes > first.changes, "{first:?} {second:?}");
    store.finish_deletion(first.number).await.unwrap();
    assert_eq!(store.get("docs").await.unwrap(), Some(second.clone()));
    // Nothing is deleted whose deletion was not begun.
    store.finish_deletion(second.number).await.unwrap();
    assert_eq!(store.get("docs").await.unwrap(), Some(second));
    // A creation that was not finished is deleted, too.
    let third = catalogue.begun("other").await;
    assert_eq!(store.begin_deletion("other").await.unwrap(), Some(third.clone()));
    assert!(!store.finish(third.number).await.unwrap());
}

async fn an_interrupted_deletion_is_listed_until_it_is_finished(catalogue: Catalogue) {
    let store = &catalogue.store;
    let mut deleted = Vec::new();
    for name in ["b", "a", "b"] {
        catalogue.made(name).await;
        deleted.push(store.begin_deletion(name).await.unwrap().unwrap());
    }
    catalogue.made("a").await;
    assert_eq!(store.being_deleted().await.unwrap(), deleted);
    for index in &deleted {
        store.finish_deletion(index.number).await.unwrap();
        store.finish_deletion(index.number).await.unwrap();
    }
    assert_eq!(store.being_deleted().await.unwrap(), []);
    assert_eq!(catalogue.names().await, ["a"]);
}

async fn changes_are_counted_from_the_time_on(catalogue: Catalogue) {
    let before = now_ms() * 1_000;
    let index = catalogue.begun("docs").await;
    let other = catalogue.made("other").await;
    assert!((before..=now_ms() * 1_000 + 999).contains(&index.changes), "{before} {index:?}");
    assert!(catalogue.store.finish(index.number).await.unwrap());
    let (store, mut latest) = (&catalogue.store, index.changes);
    let seen = async |changing: bool, latest: i64| {
        let row = store.get("docs").await.unwrap().unwrap();
        assert!(row.is_changing == changing && row.changes > latest, "{row:?} {latest}");
        row.changes
    };
    assert!(store.begin_change(index.number).await.unwrap());
    latest = seen(true, latest).await;
    assert!(store.begin_change(index.number).await.unwrap() && store.end_change(index.number).await.unwrap());
    latest = seen(true, latest).await;
    // It ends with the last one, and not twice.
    for _ in 0..2 {
        assert!(store.end_change(index.number).await.unwrap());
        latest = seen(false, latest).await;
    }
    assert_eq!(store.get("other").await.unwrap().unwrap().changes, other.changes);
    assert!(!store.begin_change(other.number + 1).await.unwrap() && !store.end_change(other.number + 1).await.unwrap());
}

async fn a_staged_index_is_shown_when_it_is_published(catalogue: Catalogue) {
    let store = &catalogue.store;
    let there = catalogue.made("a").await;
    let (first, second) = (store.stage(new("a")).await.unwrap(), store.stage(new("b")).await.unwrap());
    assert_eq!(catalogue.names().await, ["a"]);
    assert_eq!(store.get("a").await.unwrap().unwrap().number, there.number);
    assert_eq!(store.get("b").await.unwrap(), None);
    assert!(!store.finish(first.number).await.unwrap(), "it is not made as others are");
    let numbers = [first.number, second.number];
    assert_eq!(store.publish(&numbers, false, MANY).await.unwrap(), Published::Exists(vec!["a".to_owned()]));
    assert_eq!(store.publish(&numbers, true, 1).await.unwrap(), Published::TooMany);
    assert_eq!(catalogue.names().await, ["a"]);
    let Published::Done(replaced) = store.publish(&numbers, true, 2).await.unwrap() else { panic!("not published") };
    assert_eq!(replaced.iter().map(|row| row.number).collect::<Vec<_>>(), [there.number]);
    assert_eq!(catalogue.names().await, ["a", "b"]);
    assert_eq!(store.get("a").await.unwrap().unwrap().number, first.number);
    assert_eq!(store.being_deleted().await.unwrap(), replaced);
    // All or none, and none twice.
    let third = store.stage(new("c")).await.unwrap();
    assert_eq!(store.publish(&[third.number, first.number], true, MANY).await.unwrap_err().kind(), "not_found");
    assert!(store.is_kept(third.number).await.unwrap());
    assert!(store.abandon(third.number).await.unwrap());
    assert!(!store.abandon(third.number).await.unwrap(), "not twice");
    assert!(!store.is_kept(third.number).await.unwrap() && !store.is_kept(there.number).await.unwrap());
    // What was published is not abandoned.
    assert!(!store.abandon(first.number).await.unwrap() && store.is_kept(first.number).await.unwrap());
    assert_eq!(store.publish(&[third.number], false, MANY).await.unwrap_err().kind(), "not_found");
    assert_eq!(catalogue.names().await, ["a", "b"]);
    assert!(store.being_deleted().await.unwrap().iter().any(|row| row.number == third.number));
}

async fn any_text_is_stored(catalogue: Catalogue) {
    let store = &catalogue.store;
    let any = "a\0'\"\\ü😀%$1\n".to_owned();
    let stored = any.replace('\0', "\u{FFFD}");
    let new = NewIndex { name: any.clone(), store_id: any.clone(), record: any.clone(), embedding: Some(any.clone()) };
    let Begun::Made(index) = store.begin(new, MANY).await.unwrap() else { panic!("not made") };
    assert!(store.finish(index.number).await.unwrap());
    assert_eq!(store.get(&any).await.unwrap(), Some(index.clone()));
    let texts = [&index.name, &index.store_id, &index.record, index.embedding.as_ref().unwrap()];
    assert!(texts.into_iter().all(|text| *text == stored), "{index:?}");
    let updated = store.update_sync(index.number, &any, |_| Ok::<_, ()>(catalogue_syncs::sync(&any, &any, 1, None)));
    assert_eq!(updated.await.unwrap(), Ok(catalogue_syncs::sync(&stored, &stored, 1, None)));
    assert_eq!(store.syncs(index.number).await.unwrap(), [catalogue_syncs::sync(&stored, &stored, 1, None)]);
    store.forget_sync(index.number, &any).await.unwrap();
    assert_eq!(store.syncs(index.number).await.unwrap(), []);
    assert!(store.take_turn(&any, &any, 1_000, 0).await.unwrap());
    assert!(store.take_turn(&any, &any, 1_000, 0).await.unwrap());
    assert_eq!(store.begin_deletion(&any).await.unwrap(), Some(index));
}

async fn operations_are_counted(catalogue: Catalogue) {
    assert_eq!(["done", "not_found", "unavailable"].map(|outcome| catalogue.counted(outcome)), [0; 3]);
    catalogue.made("docs").await;
    catalogue.store.data_id().await.unwrap();
    assert!(catalogue.store.take_turn("t", "h", 1, 0).await.unwrap());
    assert_eq!(catalogue.counted("done"), 4);
    let gone = catalogue.store.update_sync(-1, "s", |_| Err(())).await.unwrap_err();
    assert_eq!((gone.kind(), catalogue.counted("not_found")), ("not_found", 1));
}

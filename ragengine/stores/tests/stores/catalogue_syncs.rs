//! The sources of the catalogue's indexes, and its tasks.

use std::time::Duration;

use ragengine_stores::{SourceSyncRow, Sweep, Swept};

use crate::catalogue::Catalogue;

pub fn sync(source: &str, sync: &str, began_ms: i64, leased_until_ms: Option<i64>) -> SourceSyncRow {
    SourceSyncRow { source: source.to_owned(), sync: sync.to_owned(), began_ms, leased_until_ms }
}

/// Replaces the source's row by this one. Returns the row that was there.
async fn put(catalogue: &Catalogue, number: i64, row: &SourceSyncRow) -> Option<SourceSyncRow> {
    let mut found = None;
    let update = |before| {
        found = before;
        Ok::<_, ()>(row.clone())
    };
    assert_eq!(catalogue.store.update_sync(number, &row.source, update).await.unwrap(), Ok(row.clone()));
    found
}

pub async fn a_source_is_kept_as_it_was_updated(catalogue: Catalogue) {
    let store = &catalogue.store;
    let number = catalogue.made("docs").await.number;
    assert_eq!(store.syncs(number).await.unwrap(), []);
    let leased = sync("git", r#"{"commit":null}"#, 1_760_000_000_123, Some(1_760_000_060_456));
    assert_eq!(put(&catalogue, number, &leased).await, None);
    assert_eq!(store.syncs(number).await.unwrap(), std::slice::from_ref(&leased));
    let done = sync("git", r#"{"commit":"c"}"#, 1_760_000_000_124, None);
    assert_eq!(put(&catalogue, number, &done).await, Some(leased));
    assert_eq!(store.syncs(number).await.unwrap(), std::slice::from_ref(&done));
    store.forget_sync(number, "other").await.unwrap();
    store.forget_sync(number, "git").await.unwrap();
    assert_eq!(store.syncs(number).await.unwrap(), []);
    assert_eq!(put(&catalogue, number, &done).await, None);
    // The key is what the caller names, and times are kept as far as they can be represented.
    let odd = sync("other", "", i64::MIN, Some(i64::MAX));
    let stored = store.update_sync(number, "git", |_| Ok::<_, ()>(odd)).await.unwrap().unwrap();
    assert_eq!(stored, sync("git", "", 0, Some(253_402_300_799_999)));
    assert_eq!(store.syncs(number).await.unwrap(), [stored]);
}

pub async fn a_refused_update_changes_nothing(catalogue: Catalogue) {
    let store = &catalogue.store;
    let number = catalogue.made("docs").await.number;
    let refused = store.update_sync(number, "git", Err).await.unwrap();
    assert_eq!(refused, Err(None));
    assert_eq!(store.syncs(number).await.unwrap(), []);
    let row = sync("git", "{}", 1_000, Some(2_000));
    put(&catalogue, number, &row).await;
    let refused = store.update_sync(number, "git", Err).await.unwrap();
    assert_eq!(refused, Err(Some(row.clone())));
    assert_eq!(store.syncs(number).await.unwrap(), [row]);
}

pub async fn sources_are_in_the_order_of_their_names(catalogue: Catalogue) {
    let store = &catalogue.store;
    let (b, a) = (catalogue.made("b").await.number, catalogue.made("a").await.number);
    let begun = catalogue.begun("begun").await.number;
    for (number, source) in [(b, "z"), (b, "Y"), (a, "x"), (begun, "w")] {
        put(&catalogue, number, &sync(source, "{}", 1, None)).await;
    }
    let sources: Vec<_> = store.syncs(b).await.unwrap().into_iter().map(|row| row.source).collect();
    assert_eq!(sources, ["Y", "z"]);
    let all: Vec<_> = store.all_syncs().await.unwrap().into_iter().map(|(name, row)| (name, row.source)).collect();
    let expected = [("a", "x"), ("b", "Y"), ("b", "z")].map(|(name, source)| (name.to_owned(), source.to_owned()));
    assert_eq!(all, expected);
}

pub async fn sources_go_with_their_index(catalogue: Catalogue) {
    let store = &catalogue.store;
    let first = catalogue.made("docs").await.number;
    put(&catalogue, first, &sync("git", "{}", 1, None)).await;
    store.begin_deletion("docs").await.unwrap().unwrap();
    assert_eq!(store.all_syncs().await.unwrap(), []);
    let second = catalogue.made("docs").await.number;
    assert_eq!(put(&catalogue, second, &sync("git", "{}", 2, None)).await, None);
    for _ in 0..2 {
        let gone = store.update_sync(first, "git", |_| Ok::<_, ()>(sync("git", "{}", 3, None))).await.unwrap_err();
        assert_eq!(gone.kind(), "not_found");
        store.finish_deletion(first).await.unwrap();
        assert_eq!(store.syncs(first).await.unwrap(), []);
    }
    assert_eq!(store.syncs(second).await.unwrap(), [sync("git", "{}", 2, None)]);
}

pub async fn a_task_has_one_holder_at_a_time(catalogue: Catalogue) {
    let now_ms = 1_760_000_000_000;
    for (task, holder, for_ms, after_ms, is_taken) in [
        ("sweep", "one", 1_000, 0, true),
        ("sweep", "two", 1_000, 0, false),
        ("other", "two", 1_000, 0, true),
        ("sweep", "two", 1_000, 999, false),
        // The holder may stay, and then another one waits for the new end.
        ("sweep", "one", 1_000, 999, true),
        ("sweep", "two", 1_000, 1_998, false),
        ("sweep", "two", 1_000, 1_999, true),
        ("sweep", "one", 1_000, 2_000, false),
        // It is given back.
        ("sweep", "two", 0, 2_001, true),
        ("sweep", "one", i64::MAX, 2_001, true),
        ("sweep", "two", 1_000, i64::MAX - now_ms - 1, true),
    ] {
        let taken = catalogue.store.take_turn(task, holder, for_ms, now_ms + after_ms).await.unwrap();
        assert_eq!(taken, is_taken, "{task} {holder} {after_ms}");
    }
}

pub async fn an_index_is_swept_by_one_server_after_the_given_time(catalogue: Catalogue) {
    let (store, hour) = (&catalogue.store, Duration::from_secs(3600));
    let (index, other) = (catalogue.made("docs").await.number, catalogue.made("other").await.number);
    let with_documents = Some(Sweep { without_documents_for: None });
    assert_eq!(store.begin_sweep(index, hour).await.unwrap(), with_documents);
    assert_eq!(store.begin_sweep(index, hour).await.unwrap(), None);
    assert_eq!(store.begin_sweep(other, hour).await.unwrap(), with_documents);
    // A failed sweep is repeated, and forgets nothing.
    store.end_sweep(index, Swept::WithoutDocuments).await.unwrap();
    store.end_sweep(index, Swept::Failed).await.unwrap();
    let first = store.begin_sweep(index, hour).await.unwrap().unwrap().without_documents_for.unwrap();
    tokio::time::sleep(Duration::from_millis(20)).await;
    store.end_sweep(index, Swept::WithoutDocuments).await.unwrap();
    let second = store.begin_sweep(index, Duration::ZERO).await.unwrap().unwrap().without_documents_for.unwrap();
    assert!(second >= first + Duration::from_millis(20), "{first:?} {second:?}");
    store.end_sweep(index, Swept::Whole).await.unwrap();
    assert_eq!(store.begin_sweep(index, hour).await.unwrap(), None);
    assert_eq!(store.begin_sweep(index, Duration::ZERO).await.unwrap(), with_documents);
    store.begin_deletion("docs").await.unwrap().unwrap();
    assert_eq!(store.begin_sweep(index, Duration::ZERO).await.unwrap(), None);
}

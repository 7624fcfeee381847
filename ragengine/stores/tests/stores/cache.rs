//! Behaviours of the response cache.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use ragengine_stores::{
    CacheKey, CachedAnswer, Epoch, Flight, Flights, KeyParts, Landed, LookUp, MAX_ANSWER_BYTES, ResponseCache,
};

use crate::backends::{DAY_MS, now_ms};
use crate::cache_backends::Backend;

pub use crate::cache_model::operations_are_those_of_a_model;

/// Something happens within this time.
const LIMIT: Duration = Duration::from_secs(30);

pub fn key(index_name: &str, question: &str) -> CacheKey {
    CacheKey::new(&KeyParts {
        question,
        index_name,
        store_id: "s1",
        changes: 1,
        model: "qwen",
        endpoint: "query",
        options: b"",
        settings: "",
        guardrails: "",
    })
}

pub fn answer(value: impl Into<Vec<u8>>) -> CachedAnswer {
    CachedAnswer { value: value.into(), confidence: 0.83 }
}

/// Looks up an answer. A single look-up may be late on a busy machine.
pub async fn look_up(cache: &ResponseCache, key: &CacheKey) -> LookUp {
    let until = Instant::now() + LIMIT;
    loop {
        match cache.look_up(key).await {
            LookUp::Failed => assert!(Instant::now() < until, "it fails"),
            found => return found,
        }
    }
}

/// The answer as a text.
pub async fn found(cache: &ResponseCache, key: &CacheKey) -> Option<String> {
    match look_up(cache, key).await {
        LookUp::Hit(value) => Some(String::from_utf8(value.to_vec()).unwrap()),
        LookUp::Miss(_) | LookUp::Failed => None,
    }
}

/// The epoch of a key that has no answer.
pub async fn missed(cache: &ResponseCache, key: &CacheKey) -> Epoch {
    match look_up(cache, key).await {
        LookUp::Miss(epoch) => epoch,
        other => panic!("{other:?}"),
    }
}

/// Looks up an answer that is not there, and stores one.
pub async fn put(cache: &ResponseCache, key: &CacheKey, value: &str) {
    let epoch = missed(cache, key).await;
    assert!(cache.store(key, epoch, &answer(value)).await.unwrap());
}

pub async fn an_answer_is_given_again(backend: Backend) {
    let cache = backend.lasting().cache;
    let ours = key("docs", "When are reports due?");
    let epoch = missed(&cache, &ours).await;
    assert_eq!(missed(&cache, &ours).await, epoch);
    assert!(cache.store(&ours, epoch, &answer("On 1 May.")).await.unwrap());
    for question in ["When are reports due?", "when are REPORTS  due"] {
        assert_eq!(found(&cache, &key("docs", question)).await.as_deref(), Some("On 1 May."));
    }
    // Only the memory needs no waiting.
    let is_in_memory = backend.redis.is_none() && backend.postgres.is_none();
    let expected = is_in_memory.then(|| LookUp::Hit(b"On 1 May."[..].into()));
    assert_eq!(cache.look_up_now(&ours), expected);
    for other in [key("docs", "Why?"), key("other", "When are reports due?")] {
        missed(&cache, &other).await;
    }
    // The last writer wins.
    assert!(cache.store(&ours, epoch, &answer("On 2 May.")).await.unwrap());
    assert_eq!(found(&cache, &ours).await.as_deref(), Some("On 2 May."));
}

pub async fn any_bytes_are_stored(backend: Backend) {
    let cache = backend.lasting().cache;
    let values = [vec![], vec![0], (0..=255).collect(), b"\0\r\n'\"\\".repeat(9), vec![b'x'; MAX_ANSWER_BYTES]];
    for (number, value) in values.into_iter().enumerate() {
        let key = key("docs", &number.to_string());
        let epoch = missed(&cache, &key).await;
        assert!(cache.store(&key, epoch, &answer(value.clone())).await.unwrap());
        assert_eq!(look_up(&cache, &key).await, LookUp::Hit(value.into()));
    }
}

pub async fn an_answer_that_is_too_large_is_not_stored(backend: Backend) {
    let cache = backend.lasting();
    let key = key("docs", "why");
    let epoch = missed(&cache.cache, &key).await;
    assert!(!cache.cache.store(&key, epoch, &answer(vec![0; MAX_ANSWER_BYTES + 1])).await.unwrap());
    missed(&cache.cache, &key).await;
    assert_eq!((cache.counted("changes_total", "too_large"), cache.counted("changes_total", "stored")), (1, 0));
}

pub async fn a_purged_index_gives_nothing(backend: Backend) {
    let cache = backend.lasting().cache;
    let (ours, other) = (key("docs", "why"), key("other", "why"));
    for key in [&ours, &other] {
        put(&cache, key, "So.").await;
    }
    // Purging an index without answers does no harm, and one that is unknown, neither.
    for index_name in ["docs", "docs", "unknown"] {
        cache.purge(index_name).await.unwrap();
    }
    missed(&cache, &ours).await;
    assert_eq!(found(&cache, &other).await.as_deref(), Some("So."));
    put(&cache, &ours, "Therefore.").await;
    assert_eq!(found(&cache, &ours).await.as_deref(), Some("Therefore."));
}

pub async fn an_answer_from_before_a_purge_is_not_stored(backend: Backend) {
    let cache = backend.lasting();
    let key = key("docs", "why");
    let before = missed(&cache.cache, &key).await;
    cache.cache.purge("docs").await.unwrap();
    assert!(!cache.cache.store(&key, before, &answer("So.")).await.unwrap());
    assert!(missed(&cache.cache, &key).await > before);
    assert_eq!((cache.counted("changes_total", "outdated"), cache.counted("changes_total", "stored")), (1, 0));
}

pub async fn a_removed_answer_is_not_given(backend: Backend) {
    let cache = backend.lasting().cache;
    let (ours, other) = (key("docs", "why"), key("docs", "how"));
    assert!(!cache.remove(&ours).await.unwrap());
    for key in [&ours, &other] {
        put(&cache, key, "So.").await;
    }
    // The key is known as a text.
    let read: CacheKey = ours.to_string().parse().unwrap();
    assert!(cache.remove(&read).await.unwrap());
    missed(&cache, &ours).await;
    assert!(!cache.remove(&ours).await.unwrap());
    assert_eq!(found(&cache, &other).await.as_deref(), Some("So."));
    put(&cache, &ours, "Therefore.").await;
    assert_eq!(found(&cache, &ours).await.as_deref(), Some("Therefore."));
}

pub async fn an_index_that_was_forgotten_begins_again(backend: Backend) {
    let cache = backend.lasting().cache;
    let (ours, other) = (key("docs", "why"), key("other", "why"));
    cache.forget_index("unknown").await.unwrap();
    let before = missed(&cache, &ours).await;
    for key in [&ours, &other] {
        put(&cache, key, "So.").await;
    }
    cache.forget_index("docs").await.unwrap();
    assert!(!cache.store(&ours, before, &answer("So.")).await.unwrap());
    // Its answers do not come back with the next index of its name.
    assert!(missed(&cache, &ours).await > before);
    assert_eq!(found(&cache, &other).await.as_deref(), Some("So."));
}

pub async fn names_of_indexes_are_not_confused(backend: Backend) {
    let cache = backend.lasting().cache;
    let names = ["a", "a.b", "a_b", "A", "a:1", "a:1:2", "*", "a%", "", "é", &"x".repeat(63)];
    for name in names {
        put(&cache, &key(name, "why"), name).await;
    }
    for (purged, name) in names.iter().enumerate() {
        cache.purge(name).await.unwrap();
        for (number, other) in names.iter().enumerate() {
            let expected = (number > purged).then_some(*other);
            assert_eq!(found(&cache, &key(other, "why")).await.as_deref(), expected, "{name} {other}");
        }
    }
}

pub async fn an_answer_expires(backend: Backend) {
    let expiry = Duration::from_millis(1_500);
    let (cache, key) = (backend.cache(expiry).cache, key("docs", "why"));
    let epoch = missed(&cache, &key).await;
    let began = Instant::now();
    assert!(cache.store(&key, epoch, &answer("So.")).await.unwrap());
    let stored = Instant::now();
    // A look-up does not prolong its life.
    while found(&cache, &key).await.is_some() {
        assert!(stored.elapsed() < LIMIT, "it did not expire");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(began.elapsed() >= expiry - Duration::from_millis(100), "{:?}", began.elapsed());
    assert_eq!(missed(&cache, &key).await, epoch);
}

pub async fn a_sweep_deletes_expired_answers_in_steps(backend: Backend) {
    let cache = backend.lasting().cache;
    let keys: Vec<_> = (0..1_001).map(|number| key("docs", &number.to_string())).collect();
    let epoch = missed(&cache, &keys[0]).await;
    for keys in keys.chunks(20) {
        let value = answer("So.");
        let stored = join_all(keys.iter().map(|key| cache.store(key, epoch, &value))).await;
        assert!(stored.into_iter().all(Result::unwrap));
    }
    assert_eq!(cache.sweep(now_ms()).await.unwrap(), 0);
    assert!(found(&cache, &keys[1_000]).await.is_some());
    // Redis deletes answers by itself.
    let expected = if backend.redis.is_some() && backend.postgres.is_none() { 0 } else { 1_001 };
    assert_eq!(cache.sweep(now_ms() + 31 * DAY_MS).await.unwrap(), expected);
    assert_eq!(cache.sweep(now_ms() + 31 * DAY_MS).await.unwrap(), 0);
}

pub async fn many_look_up_and_store_at_once(backend: Backend) {
    let cache = backend.lasting().cache;
    let keys: Vec<_> = (0..4).map(|number| key("docs", &number.to_string())).collect();
    // Also the first look-ups of an index agree on its epoch.
    let epochs = join_all((0..40).map(|number| missed(&cache, &keys[number % 4]))).await;
    assert!(epochs.iter().all(|epoch| *epoch == epochs[0]), "{epochs:?}");
    let values: Vec<_> = (0..40).map(|number: usize| answer((number % 4).to_string())).collect();
    let stored = join_all((0..40).map(|number| cache.store(&keys[number % 4], epochs[0], &values[number]))).await;
    assert!(stored.into_iter().all(Result::unwrap));
    for (number, key) in keys.iter().enumerate() {
        assert_eq!(found(&cache, key).await, Some(number.to_string()));
    }
}

pub async fn of_a_hundred_equal_questions_one_asks_the_model(backend: Backend) {
    let (cache, flights, runs) = (backend.lasting().cache, Flights::<Arc<[u8]>>::default(), AtomicUsize::new(0));
    let key = key("docs", "why");
    // A model that answers at once: some find the answer, some wait for it, and some join when it is there.
    let ask = async |number: usize| {
        for _ in 0..number % 10 {
            tokio::task::yield_now().await;
        }
        let epoch = match look_up(&cache, &key).await {
            LookUp::Hit(value) => return value,
            LookUp::Miss(epoch) => epoch,
            LookUp::Failed => unreachable!("it is tried again"),
        };
        let leader = match flights.join(&key, Some(epoch)) {
            Flight::Leader(leader) => leader,
            Flight::Follower(follower) => match follower.landed(tokio::time::Instant::now() + LIMIT).await {
                Landed::Answer(value) => return Arc::clone(&*value),
                Landed::Lead(_) | Landed::Alone => panic!("nobody leaves"),
            },
        };
        let mut again = cache.look_up_again(&key).await;
        let until = Instant::now() + LIMIT;
        while again == LookUp::Failed && Instant::now() < until {
            again = cache.look_up_again(&key).await;
        }
        if let LookUp::Hit(value) = again {
            leader.done(Some(Arc::new(Arc::clone(&value))));
            return value;
        }
        let value: Arc<[u8]> = runs.fetch_add(1, Ordering::Relaxed).to_string().as_bytes().into();
        assert!(cache.store(&key, epoch, &answer(&*value)).await.unwrap());
        leader.done(Some(Arc::new(Arc::clone(&value))));
        value
    };
    let answers = join_all((0..100).map(ask)).await;
    assert!(answers.iter().all(|value| **value == *b"0"));
    assert_eq!(runs.into_inner(), 1);
}

pub async fn look_ups_and_changes_are_counted(backend: Backend) {
    let cache = backend.lasting();
    let key = key("docs", "why");
    assert_eq!((cache.counted("look_ups_total", "hit"), cache.counted("look_ups_total", "miss")), (0, 0));
    put(&cache.cache, &key, "So.").await;
    found(&cache.cache, &key).await;
    found(&cache.cache, &key).await;
    cache.cache.look_up_now(&key);
    assert!(matches!(cache.cache.look_up_again(&key).await, LookUp::Hit(_)));
    cache.cache.remove(&key).await.unwrap();
    cache.cache.remove(&key).await.unwrap();
    put(&cache.cache, &key, "So.").await;
    let is_in_memory = backend.redis.is_none() && backend.postgres.is_none();
    let hits = if is_in_memory { 3 } else { 2 };
    assert_eq!((cache.counted("look_ups_total", "hit"), cache.counted("look_ups_total", "miss")), (hits, 2));
    let bytes = cache.counted("bytes", "");
    assert_eq!((cache.counted("entries", ""), bytes > 3), (u64::from(is_in_memory), is_in_memory));
    cache.cache.purge("docs").await.unwrap();
    let changes = ["stored", "removed", "purged", "evicted", "outdated"];
    assert_eq!(changes.map(|change| cache.counted("changes_total", change)), [2, 1, 1, 0, 0]);
    assert_eq!((cache.counted("entries", ""), cache.counted("bytes", "")), (0, 0));
}

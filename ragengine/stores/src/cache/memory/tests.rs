use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::*;
use ragengine_metrics::Builder;

use super::super::KeyParts;
use super::*;

const LIFETIME: Lifetime = Lifetime { now_ms: 1_000, expiry_ms: 100 };

const NOW_MS: i64 = LIFETIME.now_ms;

fn cache(answers: usize, bytes: usize) -> MemoryCache {
    let metrics = StoreMetrics::new(&mut Builder::new(Duration::from_secs(1)).unwrap()).unwrap();
    MemoryCache { limits: Limits { answers, bytes, indexes: 3 }, ..MemoryCache::new(metrics) }
}

fn key(index_name: &str, question: &str) -> CacheKey {
    CacheKey::new(&KeyParts {
        question,
        index_name,
        store_id: "",
        changes: 0,
        model: "",
        endpoint: "",
        options: b"",
        settings: "",
        guardrails: "",
    })
}

fn answer(bytes: usize) -> CachedAnswer {
    CachedAnswer { value: vec![b'x'; bytes], confidence: 0.8 }
}

fn put(cache: &MemoryCache, question: &str, bytes: usize) {
    let key = key("docs", question);
    let epoch = cache.look_up(&key, 0).epoch;
    assert!(cache.store(&key, epoch, &answer(bytes), LIFETIME));
}

fn has(cache: &MemoryCache, question: &str) -> bool {
    cache.look_up(&key("docs", question), NOW_MS).value.is_some()
}

/// The bytes must always be those of the answers that are there.
fn assert_bytes(cache: &MemoryCache) {
    let known = cache.known.lock();
    let gauges = (cache.metrics.cache_entries.get(), cache.metrics.cache_bytes.get());
    assert_eq!(gauges, (known.answers.len() as i64, known.answers.bytes() as i64));
    drop(known);
    cache.sweep(i64::MAX);
    assert_eq!((cache.metrics.cache_entries.get(), cache.metrics.cache_bytes.get()), (0, 0));
}

#[test]
fn of_too_many_answers_the_least_recently_used_goes() {
    let cache = cache(2, usize::MAX);
    for question in ["a", "b"] {
        put(&cache, question, 1);
    }
    assert!(has(&cache, "a"));
    put(&cache, "c", 1);
    assert_eq!(["a", "b", "c"].map(|question| has(&cache, question)), [true, false, true]);
    assert_eq!(cache.metrics.cache_changes_total.with_label_values(&["evicted"]).get(), 1);
    // An answer that is stored again takes no other's place.
    put(&cache, "a", 5);
    put(&cache, "d", 1);
    assert_eq!(["a", "b", "c", "d"].map(|question| has(&cache, question)), [true, false, false, true]);
    assert_bytes(&cache);
}

#[test]
fn of_too_many_bytes_the_least_recently_used_answers_go() {
    let cache = cache(1_000, 10_000);
    for question in ["a", "b", "c"] {
        put(&cache, question, 2_500);
    }
    put(&cache, "d", 4_000);
    assert_eq!(["a", "b", "c", "d"].map(|question| has(&cache, question)), [false, true, true, true][..]);
    put(&cache, "e", 20_000);
    assert_eq!(cache.known.lock().answers.len(), 0);
    // Empty answers take memory, too.
    for number in 0..1_000 {
        put(&cache, &number.to_string(), 0);
    }
    assert!(cache.known.lock().answers.bytes() <= 10_000);
    assert_bytes(&cache);
}

#[test]
fn an_answer_expires() {
    let cache = cache(10, usize::MAX);
    put(&cache, "a", 1);
    let at = |now_ms| cache.look_up(&key("docs", "a"), now_ms).value.is_some();
    assert!(at(1_099) && !at(1_100));
    assert_eq!((cache.sweep(1_099), cache.sweep(1_100), cache.sweep(1_100)), (0, 1, 0));
    assert_bytes(&cache);
}

#[derive(Debug, Clone)]
enum Step {
    LookUp {
        question: usize,
    },
    /// With the epoch of the look-up this many steps before.
    Store {
        question: usize,
        before: usize,
        bytes: usize,
    },
    Remove {
        question: usize,
    },
    Purge {
        index: usize,
    },
    Pass {
        ms: i64,
    },
    Sweep,
}

const INDEXES: [&str; 5] = ["a", "b", "c", "d", "e"];

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let question = || 0..10_usize;
    let step = prop_oneof![
        4 => question().prop_map(|question| Step::LookUp { question }),
        6 => (question(), 0..3_usize, 0..400_usize)
            .prop_map(|(question, before, bytes)| Step::Store { question, before, bytes }),
        1 => question().prop_map(|question| Step::Remove { question }),
        1 => (0..INDEXES.len()).prop_map(|index| Step::Purge { index }),
        1 => (0..40_i64).prop_map(|ms| Step::Pass { ms }),
        1 => Just(Step::Sweep),
    ];
    proptest::collection::vec(step, 0..80)
}

proptest! {
    /// The cache may lose answers, for its limits. It never gives one that a map without limits does not have.
    #[test]
    fn the_cache_gives_what_a_map_has(steps in steps(), is_large: bool) {
        let (answers, bytes) = if is_large { (100, usize::MAX) } else { (4, 1_500) };
        let cache = MemoryCache { limits: Limits { answers, bytes, indexes: 100 }, ..cache(0, 0) };
        let index = |question: usize| INDEXES[question % INDEXES.len()];
        let mut model: BTreeMap<usize, (Vec<u8>, i64)> = BTreeMap::new();
        let mut purges = [0_usize; INDEXES.len()];
        // For each step, the epochs of all indexes and how often they were purged.
        let mut seen = Vec::new();
        let mut now_ms = 1_000;
        for step in steps {
            seen.push((INDEXES.map(|index| cache.look_up(&key(index, "none"), now_ms).epoch), purges));
            match step {
                Step::LookUp { question } => {
                    let found = cache.look_up(&key(index(question), &question.to_string()), now_ms).value;
                    let expected = model.get(&question).filter(|(_, expires)| *expires > now_ms);
                    let expected = expected.map(|(value, _)| value.as_slice());
                    prop_assert!(found.as_deref() == expected || (!is_large && found.is_none()));
                }
                Step::Store { question, before, bytes } => {
                    let (epochs, purged) = seen[seen.len().saturating_sub(before + 1)];
                    let (place, lifetime) = (question % INDEXES.len(), Lifetime { now_ms, expiry_ms: 100 });
                    let key = key(index(question), &question.to_string());
                    let is_kept = cache.store(&key, epochs[place], &answer(bytes), lifetime);
                    prop_assert_eq!(is_kept, purged[place] == purges[place]);
                    if is_kept {
                        model.insert(question, (answer(bytes).value, now_ms + 100));
                    }
                }
                Step::Remove { question } => {
                    cache.remove(&key(index(question), &question.to_string()));
                    model.remove(&question);
                }
                Step::Purge { index } => {
                    cache.purge(INDEXES[index]);
                    purges[index] += 1;
                    model.retain(|question, _| question % INDEXES.len() != index);
                }
                Step::Pass { ms } => now_ms += ms,
                Step::Sweep => {
                    cache.sweep(now_ms);
                    model.retain(|_, (_, expires)| *expires > now_ms);
                }
            }
            let known = cache.known.lock();
            prop_assert!(known.answers.len() <= answers && known.answers.bytes() <= bytes);
        }
        assert_bytes(&cache);
    }
}

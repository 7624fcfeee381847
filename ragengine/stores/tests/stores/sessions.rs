//! Behaviours of the session store.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use ragengine_stores::{Newest, SessionKey, SessionStore, Turn};

use crate::backends::{DAY_MS, now_ms};
use crate::session_backends::Backend;

pub use crate::session_model::operations_are_those_of_a_model;

pub const ALL: Newest = Newest { turns: usize::MAX, bytes: usize::MAX };

/// No numbers of turns.
pub const NONE: [u64; 0] = [];

/// Something happens within this time.
const LIMIT: Duration = Duration::from_secs(30);

pub fn key(owner: &str, id: &str) -> SessionKey {
    SessionKey { owner: owner.to_owned(), id: id.to_owned() }
}

pub fn turn(seq: u64) -> Turn {
    Turn {
        seq,
        question: format!("question {seq}"),
        answer: format!("answer {seq}"),
        sources: format!("[\"source {seq}\"]"),
        response_time_ms: 1_234,
        model: None,
        answer_id: None,
        complete: true,
        created_at_ms: now_ms(),
    }
}

/// Asks and answers. Returns the number of the turn.
pub async fn ask(store: &SessionStore, key: &SessionKey) -> u64 {
    let seq = store.join(key, ALL).await.unwrap().seq;
    assert!(store.add(key, turn(seq)).await.unwrap());
    seq
}

fn numbers(turns: &[Turn]) -> Vec<u64> {
    turns.iter().map(|turn| turn.seq).collect()
}

/// The numbers of a session's turns.
pub async fn history(store: &SessionStore, key: &SessionKey) -> Vec<u64> {
    numbers(&store.history(key, ALL).await.unwrap())
}

pub async fn turns_are_in_the_order_of_their_questions(backend: Backend) {
    let (store, key) = (backend.lasting(), key("ann", "s"));
    assert_eq!(history(&store, &key).await, NONE);
    let first = store.join(&key, ALL).await.unwrap();
    let one = first.seq;
    assert_eq!((first.turns, first.is_new), (vec![], true));
    let second = store.join(&key, ALL).await.unwrap();
    assert_eq!((second.seq, second.turns, second.is_new), (one + 1, vec![], false));
    assert!(store.add(&key, turn(one + 1)).await.unwrap());
    let third = store.join(&key, ALL).await.unwrap();
    assert_eq!((third.seq, numbers(&third.turns)), (one + 2, vec![one + 1]));
    // The first question is answered last.
    assert!(store.add(&key, turn(one)).await.unwrap());
    assert_eq!(history(&store, &key).await, [one, one + 1]);
    let fourth = store.join(&key, ALL).await.unwrap();
    assert_eq!((fourth.seq, numbers(&fourth.turns), fourth.is_new), (one + 3, vec![one, one + 1], false));
}

pub async fn a_turn_is_kept_with_all_its_fields(backend: Backend) {
    let (store, key) = (backend.lasting(), key("ann", "s"));
    let whole = Turn {
        model: Some("qwen".to_owned()),
        answer_id: Some("chatcmpl-1".to_owned()),
        // The milliseconds are stored, too.
        created_at_ms: now_ms() / 1000 * 1000 - 877,
        ..turn(store.join(&key, ALL).await.unwrap().seq)
    };
    let cut_off = Turn { answer: String::new(), complete: false, ..turn(store.join(&key, ALL).await.unwrap().seq) };
    for turn in [&whole, &cut_off] {
        assert!(store.add(&key, turn.clone()).await.unwrap());
    }
    assert_eq!(store.history(&key, ALL).await.unwrap(), [whole.clone(), cut_off.clone()]);
    let without_sources = |turn: Turn| Turn { sources: String::new(), ..turn };
    let joined = store.join(&key, ALL).await.unwrap();
    assert_eq!(joined.turns, [without_sources(whole), without_sources(cut_off)]);
}

pub async fn sessions_of_others_do_not_exist(backend: Backend) {
    let store = backend.lasting();
    let ours = key("ann", "s");
    let asked = ask(&store, &ours).await;
    for (owner, id) in [("bob", "s"), ("ann", "t"), ("", "s"), ("ann", ""), ("ann:s", ""), ("an", "ns")] {
        let other = key(owner, id);
        assert_eq!(history(&store, &other).await, NONE, "{owner} {id}");
        store.clear(&other).await.unwrap();
        let joined = store.join(&other, ALL).await.unwrap();
        assert_eq!((joined.turns, joined.is_new), (vec![], true), "{owner} {id}");
        store.clear(&other).await.unwrap();
    }
    assert_eq!(history(&store, &ours).await, [asked]);
}

pub async fn questions_at_the_same_time_get_different_numbers(backend: Backend) {
    let (store, key) = (backend.lasting(), key("ann", "s"));
    let asked = join_all((0..40).map(|_| store.join(&key, ALL))).await;
    let asked: Vec<_> = asked.into_iter().map(Result::unwrap).collect();
    assert_eq!(asked.iter().filter(|joined| joined.is_new).count(), 1);
    let mut seqs: Vec<u64> = asked.into_iter().map(|joined| joined.seq).collect();
    let added = join_all(seqs.iter().rev().map(|seq| store.add(&key, turn(*seq)))).await;
    assert!(added.into_iter().all(|added| added.unwrap()));
    seqs.sort_unstable();
    assert_eq!(seqs, (seqs[0]..seqs[0] + 40).collect::<Vec<_>>());
    assert_eq!(history(&store, &key).await, seqs);
}

pub async fn a_session_expires_when_it_is_not_used(backend: Backend) {
    let expiry = Duration::from_secs(2);
    let (store, key) = (backend.store(expiry), key("ann", "s"));
    let mut seq = ask(&store, &key).await;
    let began = Instant::now();
    while began.elapsed() < expiry + Duration::from_millis(500) {
        seq += 1;
        let joined = store.join(&key, ALL).await.unwrap();
        assert_eq!((joined.seq, joined.turns.len()), (seq, 1), "{:?}", began.elapsed());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    // Adding is a use, too.
    store.add(&key, turn(seq)).await.unwrap();
    let began = Instant::now();
    expired(&store, &key).await;
    assert!(began.elapsed() > expiry / 2, "{:?}", began.elapsed());
    store.clear(&key).await.unwrap();
    let joined = store.join(&key, ALL).await.unwrap();
    assert_eq!((joined.turns, joined.is_new), (vec![], true));
    // No number comes twice.
    assert!(joined.seq > seq, "{} {seq}", joined.seq);
    // The old turns do not come back.
    assert_eq!(history(&store, &key).await, NONE);
    assert_eq!(ask(&store, &key).await, joined.seq + 1);
    assert_eq!(history(&store, &key).await, [joined.seq + 1]);
}

/// Waits until a session with a turn has expired.
async fn expired(store: &SessionStore, key: &SessionKey) {
    let began = Instant::now();
    while !history(store, key).await.is_empty() {
        assert!(began.elapsed() < LIMIT, "the session did not expire");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

pub async fn an_answer_from_before_the_expiry_replaces_no_turn(backend: Backend) {
    let (store, key) = (backend.store(Duration::from_secs(1)), key("ann", "s"));
    ask(&store, &key).await;
    let answering = store.join(&key, ALL).await.unwrap().seq;
    expired(&store, &key).await;
    let (second, third) = (ask(&store, &key).await, ask(&store, &key).await);
    assert!(store.add(&key, turn(answering)).await.unwrap());
    assert_eq!(history(&store, &key).await, [answering, second, third]);
    let fourth = ask(&store, &key).await;
    assert_eq!(history(&store, &key).await, [answering, second, third, fourth]);
}

pub async fn an_answer_that_took_longer_than_the_expiry_is_kept(backend: Backend) {
    let (store, key) = (backend.store(Duration::from_millis(500)), key("ann", "s"));
    ask(&store, &key).await;
    let seq = store.join(&key, ALL).await.unwrap().seq;
    let other = store.join(&key, ALL).await.unwrap().seq;
    expired(&store, &key).await;
    assert!(store.add(&key, turn(seq)).await.unwrap());
    let joined = store.join(&key, ALL).await.unwrap();
    assert_eq!((numbers(&joined.turns), joined.is_new), (vec![seq], false));
    // Another question took this number before the session expired.
    assert!(joined.seq > other, "{} {other}", joined.seq);
}

pub async fn cleared_turns_go_also_those_that_are_being_answered(backend: Backend) {
    let (store, key) = (backend.lasting(), key("ann", "s"));
    let first = ask(&store, &key).await;
    let answering = store.join(&key, ALL).await.unwrap().seq;
    store.clear(&key).await.unwrap();
    assert_eq!(history(&store, &key).await, NONE);
    let next = store.join(&key, ALL).await.unwrap();
    assert_eq!((next.seq, next.turns, next.is_new), (first + 2, vec![], false));
    assert!(!store.add(&key, turn(answering)).await.unwrap());
    assert!(!store.add(&key, turn(first)).await.unwrap());
    assert!(store.add(&key, turn(next.seq)).await.unwrap());
    assert_eq!(history(&store, &key).await, [first + 2]);
    store.clear(&key).await.unwrap();
    store.clear(&key).await.unwrap();
    assert_eq!(ask(&store, &key).await, first + 3);
    assert_eq!(history(&store, &key).await, [first + 3]);
}

pub async fn clearing_an_unknown_session_does_not_make_it(backend: Backend) {
    let (store, key) = (backend.lasting(), key("ann", "s"));
    store.clear(&key).await.unwrap();
    let joined = store.join(&key, ALL).await.unwrap();
    assert!(joined.is_new);
    assert!(store.add(&key, turn(joined.seq)).await.unwrap());
}

pub async fn the_newest_turns_within_both_limits_are_read(backend: Backend) {
    let (store, key) = (backend.lasting(), key("ann", "s"));
    // The texts of each turn have these bytes, and the sources 100 more. One is too large for most limits.
    for (seq, bytes) in (1..).zip([10, 500, 10, 10, 10]) {
        // Two bytes each.
        let (question, answer) = ("é".repeat(bytes / 5), "a".repeat(bytes - bytes / 5 * 2));
        let (sources, model) = (format!("[\"{}\"]", "s".repeat(93)), Some("m".repeat(3)));
        store.add(&key, Turn { question, answer, sources, model, ..turn(seq) }).await.unwrap();
    }
    for (turns, bytes, joined, listed) in [
        (usize::MAX, usize::MAX, &[1, 2, 3, 4, 5][..], &[1, 2, 3, 4, 5][..]),
        (0, usize::MAX, &[], &[]),
        (usize::MAX, 0, &[], &[]),
        (2, usize::MAX, &[4, 5], &[4, 5]),
        (usize::MAX, 9, &[], &[]),
        (usize::MAX, 10, &[5], &[]),
        (usize::MAX, 29, &[4, 5], &[]),
        (usize::MAX, 30, &[3, 4, 5], &[]),
        (usize::MAX, 109, &[3, 4, 5], &[]),
        (usize::MAX, 110, &[3, 4, 5], &[5]),
        // The turn that does not fit ends the history, though an older one would fit.
        (usize::MAX, 529, &[3, 4, 5], &[3, 4, 5]),
        (usize::MAX, 530, &[2, 3, 4, 5], &[3, 4, 5]),
        (usize::MAX, 540, &[1, 2, 3, 4, 5], &[3, 4, 5]),
        (3, 25, &[4, 5], &[]),
    ] {
        let newest = Newest { turns, bytes };
        assert_eq!(numbers(&store.join(&key, newest).await.unwrap().turns), joined, "{newest:?}");
        assert_eq!(numbers(&store.history(&key, newest).await.unwrap()), listed, "{newest:?}");
    }
}

pub async fn a_turn_that_is_added_again_is_there_once(backend: Backend) {
    let (store, key) = (backend.lasting(), key("ann", "s"));
    let first = store.join(&key, ALL).await.unwrap().seq;
    store.join(&key, ALL).await.unwrap();
    let kept = turn(first);
    for _ in 0..3 {
        assert!(store.add(&key, kept.clone()).await.unwrap());
    }
    assert_eq!(store.history(&key, ALL).await.unwrap(), std::slice::from_ref(&kept));
    // The last writer wins.
    let other = Turn { answer: "another".to_owned(), ..kept };
    assert!(store.add(&key, other.clone()).await.unwrap());
    assert_eq!(store.history(&key, ALL).await.unwrap(), [other]);
    assert_eq!(store.join(&key, ALL).await.unwrap().seq, first + 2);
}

pub async fn any_text_is_stored(backend: Backend) {
    let store = backend.lasting();
    let odd = "a\0b'\"\\\u{1F600}%s$1\n{}:\u{2028}\"bytes\":0,\r\u{7f}";
    let key = key(&odd.repeat(8), &odd.repeat(4));
    let text = || odd.to_owned();
    let stored = Turn {
        question: text(),
        answer: text(),
        sources: text(),
        model: Some(text()),
        answer_id: Some(text()),
        response_time_ms: u64::from(u32::MAX),
        ..turn(store.join(&key, ALL).await.unwrap().seq)
    };
    assert!(store.add(&key, stored.clone()).await.unwrap());
    let without_nul = |text: &str| text.replace('\0', "\u{FFFD}");
    let read = store.history(&key, ALL).await.unwrap().remove(0);
    for text in [&read.question, &read.answer, &read.sources, &read.model.unwrap(), &read.answer_id.unwrap()] {
        // PostgreSQL cannot store NUL.
        assert_eq!(without_nul(text), without_nul(odd));
    }
    assert_eq!((read.response_time_ms, read.created_at_ms), (stored.response_time_ms, stored.created_at_ms));
    assert_eq!(store.join(&key, ALL).await.unwrap().turns.len(), 1);
    store.clear(&key).await.unwrap();
    assert_eq!(history(&store, &key).await, NONE);
}

pub async fn the_newest_10_000_turns_are_kept(backend: Backend) {
    let (store, key) = (backend.lasting(), key("ann", "s"));
    let seqs: Vec<u64> = (1..=10_020).collect();
    for some in seqs.chunks(40) {
        let added = join_all(some.iter().map(|seq| store.add(&key, turn(*seq)))).await;
        assert!(added.into_iter().all(|added| added.unwrap()));
    }
    assert_eq!(history(&store, &key).await, (21..=10_020).collect::<Vec<_>>());
    let newest = Newest { turns: 1_000, bytes: 1_000_000 };
    let joined = store.join(&key, newest).await.unwrap();
    assert_eq!((joined.seq, numbers(&joined.turns)), (10_021, (9_021..=10_020).collect()));
    store.clear(&key).await.unwrap();
    assert_eq!(store.join(&key, ALL).await.unwrap().turns, []);
}

pub async fn a_sweep_deletes_expired_sessions_in_steps(backend: Backend) {
    let store = backend.lasting();
    for number in 0..501 {
        ask(&store, &key("ann", &number.to_string())).await;
    }
    for seq in 2..20 {
        store.add(&key("ann", "0"), turn(seq)).await.unwrap();
    }
    assert_eq!(store.sweep(now_ms()).await.unwrap(), 0);
    assert_eq!(history(&store, &key("ann", "0")).await.len(), 19);
    // Redis deletes sessions by itself.
    let expected = if matches!(backend, Backend::Redis(_)) { 0 } else { 501 };
    assert_eq!(store.sweep(now_ms() + 2 * DAY_MS).await.unwrap(), expected);
    assert_eq!(store.sweep(now_ms() + 2 * DAY_MS).await.unwrap(), 0);
    if expected > 0 {
        assert!(store.join(&key("ann", "0"), ALL).await.unwrap().is_new);
    }
}

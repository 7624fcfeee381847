use super::*;

const LIFETIME: Lifetime = Lifetime { now_ms: 1_000, expiry_ms: 100 };

/// The first number of a session.
const FIRST: u64 = 1_000_000;

const ALL: Newest = Newest { turns: usize::MAX, bytes: usize::MAX };

fn store(sessions: usize, bytes: usize, session_bytes: usize) -> MemorySessions {
    let limits = Limits { sessions, bytes, session_bytes, session_turns: 3 };
    MemorySessions { limits, ..MemorySessions::default() }
}

fn key(id: &str) -> SessionKey {
    SessionKey { owner: "ann".to_owned(), id: id.to_owned() }
}

fn turn(seq: u64, bytes: usize) -> Turn {
    Turn { seq, answer: "x".repeat(bytes), ..Turn::default() }
}

fn add(store: &MemorySessions, id: &str, bytes: usize) {
    let seq = store.join(&key(id), ALL, LIFETIME).seq;
    assert!(store.add(&key(id), turn(seq, bytes), LIFETIME));
}

/// The numbers of a session's turns, from 1.
fn numbers(store: &MemorySessions, id: &str) -> Vec<u64> {
    store.history(&key(id), ALL, LIFETIME.now_ms).iter().map(|turn| turn.seq + 1 - FIRST).collect()
}

/// The bytes must always be those of the sessions that are there.
fn assert_bytes(store: &MemorySessions) {
    let mut table = store.table.lock();
    let bytes = table.bytes();
    table.sweep(i64::MAX, usize::MAX);
    assert_eq!(table.bytes(), 0, "of {bytes}");
}

#[test]
fn of_too_many_sessions_the_least_recently_used_goes() {
    let store = store(2, usize::MAX, usize::MAX);
    for id in ["a", "b"] {
        add(&store, id, 1);
    }
    store.join(&key("a"), ALL, LIFETIME);
    // Reading is no use.
    assert_eq!(numbers(&store, "b"), [1]);
    add(&store, "c", 1);
    assert_eq!((numbers(&store, "a"), numbers(&store, "b")), (vec![1], vec![]));
    // A session that went is unknown.
    let joined = store.join(&key("b"), ALL, LIFETIME);
    assert_eq!((joined.seq, joined.is_new), (FIRST, true));
    assert_eq!((numbers(&store, "a"), numbers(&store, "c")), (vec![], vec![1]));
    assert_bytes(&store);
}

#[test]
fn of_too_many_bytes_the_least_recently_used_session_goes() {
    let store = store(100, 100_000, usize::MAX);
    for id in ["a", "b", "c"] {
        add(&store, id, 30_000);
    }
    add(&store, "b", 20_000);
    assert_eq!((numbers(&store, "a"), numbers(&store, "b"), numbers(&store, "c")), (vec![], vec![1, 2], vec![1]));
    // Sessions without turns take memory, too.
    for number in 0..1_000 {
        store.join(&SessionKey { owner: "x".repeat(300), id: number.to_string() }, ALL, LIFETIME);
    }
    assert!(store.table.lock().bytes() <= 100_000);
    assert_bytes(&store);
}

#[test]
fn of_a_session_that_is_too_long_the_oldest_turns_go() {
    let store = store(100, usize::MAX, 10_000);
    for _ in 0..5 {
        add(&store, "a", 1);
    }
    assert_eq!(numbers(&store, "a"), [3, 4, 5]);
    add(&store, "a", 9_000);
    assert_eq!(numbers(&store, "a"), [4, 5, 6]);
    add(&store, "a", 9_000);
    assert_eq!(numbers(&store, "a"), [7]);
    // A turn that is too long by itself goes, and with it the older ones.
    add(&store, "a", 20_000);
    assert_eq!(numbers(&store, "a"), [0_u64; 0]);
    add(&store, "a", 1);
    assert_eq!(numbers(&store, "a"), [9]);
    assert_bytes(&store);
}

#[test]
fn a_sweep_deletes_what_has_expired() {
    let store = store(100, usize::MAX, usize::MAX);
    for id in ["a", "b"] {
        add(&store, id, 1);
    }
    store.join(&key("a"), ALL, Lifetime { now_ms: 1_050, ..LIFETIME });
    assert_eq!(store.sweep(1_099), (0, true));
    assert_eq!(store.sweep(1_100), (1, false));
    assert_eq!(store.sweep(1_149), (0, true));
    store.clear(&key("a"), Lifetime { now_ms: 1_149, ..LIFETIME });
    assert_eq!(store.sweep(1_248), (0, true));
    assert_eq!(store.sweep(1_249), (1, false));
    assert_bytes(&store);
}

//! Random operations on sessions: each backend gives the same answers as a list of turns.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use ragengine_stores::{Newest, SessionStore, Turn};

use crate::session_backends::Backend;
use crate::sessions::{key, turn};

/// Sequences of operations for each backend.
const CASES: usize = 40;

#[derive(Debug, Clone)]
enum Step {
    Join {
        session: usize,
        turns: usize,
        bytes: usize,
    },
    /// Adds the turn of this one of all joins so far.
    Add {
        session: usize,
        join: usize,
        length: usize,
    },
    Clear {
        session: usize,
    },
    History {
        session: usize,
        turns: usize,
        bytes: usize,
    },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let limits = || (0..2_usize, 0..6_usize, 0..120_usize);
    let step = prop_oneof![
        4 => limits().prop_map(|(session, turns, bytes)| Step::Join { session, turns, bytes }),
        6 => (0..2_usize, 0..9_usize, 0..40_usize)
            .prop_map(|(session, join, length)| Step::Add { session, join, length }),
        1 => (0..2_usize).prop_map(|session| Step::Clear { session }),
        3 => limits().prop_map(|(session, turns, bytes)| Step::History { session, turns, bytes }),
    ];
    proptest::collection::vec(step, 1..40)
}

/// A session without any limits.
#[derive(Default)]
struct Model {
    /// The number of the first join.
    first: u64,
    seq: u64,
    cleared: u64,
    turns: BTreeMap<u64, Turn>,
}

impl Model {
    fn newest(&self, turns: usize, mut bytes: usize, size: impl Fn(&Turn) -> usize) -> Vec<Turn> {
        let mut newest = Vec::new();
        for turn in self.turns.values().rev().take(turns) {
            let Some(rest) = bytes.checked_sub(size(turn)) else { break };
            bytes = rest;
            newest.insert(0, turn.clone());
        }
        newest
    }
}

async fn run(store: &SessionStore, owner: &str, steps: &[Step]) {
    let mut models = [Model::default(), Model::default()];
    for step in steps {
        match *step {
            Step::Join { session, turns, bytes } => {
                let joined = store.join(&key(owner, &session.to_string()), Newest { turns, bytes }).await.unwrap();
                let model = &mut models[session];
                assert_eq!(joined.is_new, model.seq == 0, "{steps:?}");
                if joined.is_new {
                    (model.first, model.seq) = (joined.seq, joined.seq);
                } else {
                    model.seq += 1;
                }
                assert_eq!(joined.seq, model.seq, "{steps:?}");
                let mut expected = model.newest(turns, bytes, |turn| turn.question.len() + turn.answer.len());
                expected.iter_mut().for_each(|turn| turn.sources.clear());
                assert_eq!(joined.turns, expected, "{steps:?}");
            }
            Step::Add { session, join, length } => {
                let model = &mut models[session];
                let seq = model.first + join as u64;
                if model.seq == 0 || seq > model.seq {
                    continue;
                }
                let turn = Turn { answer: "x".repeat(length), ..turn(seq) };
                let is_kept = store.add(&key(owner, &session.to_string()), turn.clone()).await.unwrap();
                assert_eq!(is_kept, seq > model.cleared, "{steps:?}");
                if is_kept {
                    model.turns.insert(seq, turn);
                }
            }
            Step::Clear { session } => {
                store.clear(&key(owner, &session.to_string())).await.unwrap();
                let model = &mut models[session];
                model.cleared = model.seq;
                model.turns.clear();
            }
            Step::History { session, turns, bytes } => {
                let listed = store.history(&key(owner, &session.to_string()), Newest { turns, bytes }).await.unwrap();
                let size = |turn: &Turn| turn.question.len() + turn.answer.len() + turn.sources.len();
                assert_eq!(listed, models[session].newest(turns, bytes, size), "{steps:?}");
            }
        }
    }
}

pub async fn operations_are_those_of_a_model(backend: Backend) {
    static OWNERS: AtomicU64 = AtomicU64::new(0);
    let (store, mut runner) = (backend.lasting(), TestRunner::default());
    for _ in 0..CASES {
        let steps = steps().new_tree(&mut runner).unwrap().current();
        let owner = OWNERS.fetch_add(1, Ordering::Relaxed).to_string();
        run(&store, &owner, &steps).await;
    }
}

//! Random operations of two servers on one cache: each backend gives the same answers as a map.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use ragengine_stores::{Epoch, LookUp, ResponseCache};

use crate::cache::{answer, key, look_up};
use crate::cache_backends::Backend;

/// Sequences of operations for each backend.
const CASES: usize = 40;

#[derive(Debug, Clone)]
enum Step {
    LookUp {
        question: usize,
    },
    /// Under the epoch of the latest look-up that missed it.
    Store {
        question: usize,
        value: u8,
    },
    Remove {
        question: usize,
    },
    Purge {
        index: usize,
    },
    Forget {
        index: usize,
    },
}

fn steps() -> impl Strategy<Value = Vec<(bool, Step)>> {
    let question = || 0..4_usize;
    let step = prop_oneof![
        8 => question().prop_map(|question| Step::LookUp { question }),
        8 => (question(), any::<u8>()).prop_map(|(question, value)| Step::Store { question, value }),
        3 => question().prop_map(|question| Step::Remove { question }),
        1 => (0..2_usize).prop_map(|index| Step::Purge { index }),
        1 => (0..2_usize).prop_map(|index| Step::Forget { index }),
    ];
    proptest::collection::vec((any::<bool>(), step), 1..40)
}

async fn run(servers: [&ResponseCache; 2], name: &str, steps: &[(bool, Step)]) {
    let index = |question: usize| question % 2;
    let index_name = |index: usize| format!("{name}{index}");
    let key = |question| key(&index_name(index(question)), &question.to_string());
    let mut model: BTreeMap<usize, u8> = BTreeMap::new();
    let mut epochs: BTreeMap<usize, (Epoch, usize)> = BTreeMap::new();
    let mut purges = [0, 0];
    for (number, (is_other, step)) in steps.iter().enumerate() {
        let server = servers[usize::from(*is_other)];
        match *step {
            Step::LookUp { question } => match look_up(server, &key(question)).await {
                LookUp::Hit(value) => assert_eq!(model.get(&question), Some(&value[0]), "{number} {steps:?}"),
                LookUp::Miss(epoch) => {
                    assert_eq!(model.get(&question), None, "{number} {steps:?}");
                    epochs.insert(question, (epoch, purges[index(question)]));
                }
                LookUp::Failed => unreachable!("it is tried again"),
            },
            Step::Store { question, value } => {
                let Some((epoch, purged)) = epochs.get(&question) else { continue };
                let is_kept = server.store(&key(question), *epoch, &answer([value])).await.unwrap();
                assert_eq!(is_kept, *purged == purges[index(question)], "{number} {steps:?}");
                if is_kept {
                    model.insert(question, value);
                }
            }
            Step::Remove { question } => {
                let was_there = server.remove(&key(question)).await.unwrap();
                assert_eq!(was_there, model.remove(&question).is_some(), "{number} {steps:?}");
            }
            Step::Purge { index } | Step::Forget { index } => {
                let name = index_name(index);
                match step {
                    Step::Purge { .. } => server.purge(&name).await.unwrap(),
                    _ => server.forget_index(&name).await.unwrap(),
                }
                purges[index] += 1;
                model.retain(|question, _| question % 2 != index);
            }
        }
    }
}

pub async fn operations_are_those_of_a_model(backend: Backend) {
    let (one, other) = (backend.lasting().cache, backend.lasting().cache);
    let is_in_memory = backend.redis.is_none() && backend.postgres.is_none();
    // Servers do not share their memory.
    let servers = if is_in_memory { [&one, &one] } else { [&one, &other] };
    let mut runner = TestRunner::default();
    for case in 0..CASES {
        let steps = steps().new_tree(&mut runner).unwrap().current();
        run(servers, &format!("case{case}."), &steps).await;
    }
}

//! Random votes and removals: the file gives the same answers as a list of all votes, also after it was reopened.

use std::collections::BTreeMap;

use proptest::prelude::*;
use ragengine_stores::{Answer, NewVote, Rating};

use crate::backends::{Stores, now_ms};
use crate::feedback::answer;

const CHUNKS: [&str; 4] = ["w", "x", "y", "z"];

/// The model of an answer's embedding model and index.
const KINDS: [(&str, &str); 3] = [("docs", "minilm"), ("docs", "e5"), ("other", "minilm")];

#[derive(Debug, Clone)]
enum Step {
    /// An answer of this kind, with the chunks of these bits.
    Answer {
        id: u8,
        kind: usize,
        chunks: u8,
    },
    Vote {
        id: u8,
        voter: u8,
        is_up: bool,
        second: i64,
    },
    Remove {
        id: u8,
        voter: u8,
    },
    Reopen,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => (0..6_u8, 0..KINDS.len(), 0..16_u8).prop_map(|(id, kind, chunks)| Step::Answer { id, kind, chunks }),
        6 => (0..6_u8, 0..3_u8, any::<bool>(), 0..5_i64)
            .prop_map(|(id, voter, is_up, second)| Step::Vote { id, voter, is_up, second }),
        3 => (0..6_u8, 0..3_u8).prop_map(|(id, voter)| Step::Remove { id, voter }),
        1 => Just(Step::Reopen),
    ];
    proptest::collection::vec(step, 0..40)
}

/// Answers and the votes on them, by voter.
#[derive(Default)]
struct Model {
    answers: BTreeMap<u8, (usize, u8)>,
    votes: BTreeMap<(u8, u8), (bool, i64)>,
}

type Votes = BTreeMap<String, Vec<(String, i64, bool, usize)>>;

impl Model {
    /// For each chunk, the newest vote first; at the same time, by answer and voter.
    fn votes_on(&self, (index_name, fingerprint): (&str, &str)) -> Votes {
        let mut votes = Votes::new();
        let mut sorted: Vec<_> = self.votes.iter().collect();
        sorted.sort_by_key(|((id, voter), (_, at_ms))| (std::cmp::Reverse(*at_ms), *id, *voter));
        for ((id, voter), (is_up, at_ms)) in sorted {
            let (kind, chunks) = self.answers[id];
            let dimensions = if KINDS[kind].1 == fingerprint { 2 } else { 0 };
            if KINDS[kind].0 != index_name {
                continue;
            }
            for (_, chunk) in CHUNKS.iter().enumerate().filter(|(bit, _)| chunks & (1 << bit) != 0) {
                let vote = (voter.to_string(), *at_ms, *is_up, dimensions);
                votes.entry((*chunk).to_owned()).or_default().push(vote);
            }
        }
        votes
    }
}

async fn votes_on(stores: &Stores, (index_name, fingerprint): (&str, &str)) -> Votes {
    let found = stores.feedback.votes_on(index_name, fingerprint, &CHUNKS.map(str::to_owned)).await.unwrap();
    let of_chunk = |votes: Vec<ragengine_stores::ChunkVote>| {
        votes.into_iter().map(|vote| (vote.voter, vote.voted_at_ms, vote.is_up, vote.question_vector.len())).collect()
    };
    found.into_iter().map(|(chunk, votes)| (chunk, of_chunk(votes))).collect()
}

async fn run(steps: Vec<Step>) {
    let folder = tempfile::tempdir().unwrap();
    let (mut stores, mut model, now_ms) = (Stores::embedded(folder.path()), Model::default(), now_ms());
    for step in steps {
        match step {
            Step::Answer { id, kind, chunks } => {
                let node_ids = CHUNKS.iter().enumerate().filter(|(bit, _)| chunks & (1 << bit) != 0);
                let answer = Answer {
                    index_name: KINDS[kind].0.to_owned(),
                    fingerprint: KINDS[kind].1.to_owned(),
                    node_ids: node_ids.map(|(_, chunk)| (*chunk).to_owned()).collect(),
                    ..answer(&id.to_string(), &[], 0)
                };
                stores.feedback.record_answer(answer).await.unwrap();
                model.answers.entry(id).or_insert((kind, chunks));
            }
            Step::Vote { id, voter, is_up, second } => {
                let rating = if is_up { Rating::Up } else { Rating::Down };
                let voted_at_ms = now_ms - 1000 * second;
                let (answer_id, voter_name) = (id.to_string(), voter.to_string());
                let vote = NewVote { answer_id, voter: voter_name, rating, comment: None, voted_at_ms };
                let is_done = stores.feedback.vote("ann", vote).await.is_ok();
                assert_eq!(is_done, model.answers.contains_key(&id));
                if is_done {
                    model.votes.insert((id, voter), (is_up, voted_at_ms));
                }
            }
            Step::Remove { id, voter } => {
                let is_done = stores.feedback.remove_vote("ann", &id.to_string(), &voter.to_string()).await.is_ok();
                assert_eq!(is_done, model.votes.remove(&(id, voter)).is_some());
            }
            Step::Reopen => {
                drop(stores);
                stores = Stores::embedded(folder.path());
            }
        }
    }
    for kind in KINDS {
        assert_eq!(votes_on(&stores, kind).await, model.votes_on(kind), "{kind:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn votes_on_chunks_are_those_of_a_model(steps in steps()) {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(run(steps));
    }
}

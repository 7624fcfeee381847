//! The votes on chunks, before their vectors are read. Both backends find them in the same order.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::{ChunkVote, MAX_VECTORS};

/// A vote for one chunk. Its order is that of the result, the newest first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Found {
    pub voted_at_ms: Reverse<i64>,
    pub answer_id: String,
    pub voter: String,
    pub node_id: String,
    pub is_up: bool,
}

/// The answers whose vectors are read.
pub(super) fn answers_with_vectors(found: &[Found]) -> Vec<String> {
    let mut answers = BTreeSet::new();
    for vote in found {
        if answers.len() == MAX_VECTORS {
            break;
        }
        answers.insert(&vote.answer_id);
    }
    answers.into_iter().cloned().collect()
}

/// The result: sorted votes by chunk, with the vectors of their answers.
pub(super) fn by_chunk(found: Vec<Found>, vectors: &HashMap<String, Arc<[f32]>>) -> BTreeMap<String, Vec<ChunkVote>> {
    let none: Arc<[f32]> = Arc::from([]);
    let mut chunks: BTreeMap<String, Vec<ChunkVote>> = BTreeMap::new();
    for Found { voted_at_ms, answer_id, voter, node_id, is_up } in found {
        let question_vector = Arc::clone(vectors.get(&answer_id).unwrap_or(&none));
        let vote = ChunkVote { voter, voted_at_ms: voted_at_ms.0, is_up, question_vector };
        chunks.entry(node_id).or_default().push(vote);
    }
    chunks
}

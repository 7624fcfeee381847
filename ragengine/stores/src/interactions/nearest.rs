use std::collections::BinaryHeap;

use crate::vector;

/// What interactions are compared with.
pub(super) struct Question {
    pub owner: String,
    pub index_name: String,
    pub fingerprint: String,
    pub vector: Vec<f32>,
    pub provider: Option<String>,
    pub limit: usize,
    pub min_similarity: f32,
    /// Interactions up to then have expired. In milliseconds since 1970.
    pub created_after_ms: i64,
}

/// The most similar interactions so far: their ids and similarities.
pub(super) struct Nearest<'a> {
    question: &'a Question,
    /// The least similar is on top.
    best: BinaryHeap<Candidate>,
}

impl<'a> Nearest<'a> {
    pub fn to(question: &'a Question) -> Self {
        Self { question, best: BinaryHeap::new() }
    }

    /// Compares an interaction's vector.
    pub fn compare(&mut self, id: &str, vector: &[u8]) {
        let Some(similarity) = vector::similarity(&self.question.vector, vector) else { return };
        if similarity < self.question.min_similarity {
            return;
        }
        self.best.push(Candidate { similarity, id: id.to_owned() });
        if self.best.len() > self.question.limit {
            self.best.pop();
        }
    }

    /// The result, the most similar first.
    pub fn into_best(self) -> Vec<(String, f32)> {
        self.best.into_sorted_vec().into_iter().map(|Candidate { similarity, id }| (id, similarity)).collect()
    }
}

/// The order is that of the result.
struct Candidate {
    similarity: f32,
    id: String,
}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        other.similarity.total_cmp(&self.similarity).then_with(|| self.id.cmp(&other.id))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Candidate {}

//! What is measured of a ranking.

use std::fmt;

use crate::metrics::{ndcg, recall, reciprocal_rank};
use crate::question::Question;

/// The cutoff of the reciprocal rank and of nDCG.
const RANKING_CUTOFF: usize = 10;

/// The cutoffs of recall.
const RECALL_CUTOFFS: [usize; 3] = [1, 5, 10];

/// A measure of rankings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// The share of the relevant documents among so many results.
    Recall(usize),
    /// The mean of the reciprocal rank of the first relevant document.
    ReciprocalRank,
    /// The normalised discounted cumulative gain.
    Ndcg,
}

impl Measure {
    /// All measures, in the order of the tables.
    pub const ALL: [Self; 5] = [
        Self::Recall(RECALL_CUTOFFS[0]),
        Self::Recall(RECALL_CUTOFFS[1]),
        Self::Recall(RECALL_CUTOFFS[2]),
        Self::ReciprocalRank,
        Self::Ndcg,
    ];

    /// The figure of one question.
    pub(super) fn of(self, ranking: &[String], question: &Question) -> f64 {
        match self {
            Self::Recall(k) => recall(ranking, &question.relevant, k),
            Self::ReciprocalRank => reciprocal_rank(ranking, &question.relevant, RANKING_CUTOFF),
            Self::Ndcg => ndcg(ranking, &question.relevant, RANKING_CUTOFF),
        }
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Recall(k) => write!(formatter, "recall@{k}"),
            Self::ReciprocalRank => write!(formatter, "MRR@{RANKING_CUTOFF}"),
            Self::Ndcg => write!(formatter, "nDCG@{RANKING_CUTOFF}"),
        }
    }
}

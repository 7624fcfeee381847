//! The order of the chunks that a search found.
//!
//! The modules in the order of their use:
//!
//! - [`fusion`] gives each chunk a score from its vector and its words; [`bands`] names the best similarity
//! - [`answerable`] decides whether the question gets context at all
//! - [`feedback`] raises and lowers scores by votes
//! - [`recency`] puts newer documents first among chunks of similar scores; [`document_day`] finds their dates
//! - [`rerank`] lets a language model order the chunks
//! - [`diversity`] drops chunks that say the same
//! - [`passages`] joins neighbouring chunks of a document

pub mod answerable;
pub mod bands;
pub mod diversity;
pub mod document_day;
pub mod feedback;
pub mod fusion;
pub mod passages;
pub mod recency;
pub mod rerank;

/// Scores that differ by less than this are equal. It is more than the error of their computation, so that 0.90 and
/// 0.88 differ by exactly 0.02.
const SCORE_ERROR: f32 = 1e-6;

/// A chunk with its score: higher is better.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ranked<K> {
    /// The chunk.
    pub id: K,
    /// What the fusion gave it, plus what votes added.
    pub score: f32,
}

/// Sorts by score, then by id. So the order is the same for the same scores.
fn best_first<K: Ord>(ranked: &mut [Ranked<K>]) {
    ranked.sort_by(|one, other| other.score.total_cmp(&one.score).then_with(|| one.id.cmp(&other.id)));
}

//! Whether an index can answer a question at all (`retrieval.threshold: calibrated`).
//!
//! A fixed distance cannot tell: how near a good chunk is depends on the model, the corpus and the question. So the
//! decision is made once for each question, from what both searches found, by a logistic regression. Its inputs do not
//! depend on the model's scale: distances are compared with those of random pairs of chunks, BM25 scores with the
//! inverse document frequencies of the question's words.

/// What the searches by vectors and by words tell about a question.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Evidence {
    /// The squared L2 distance of the nearest chunk.
    pub nearest_distance: f32,
    /// The distance of the tenth nearest chunk. A chunk that answers stands out from those that only share the subject.
    pub tenth_distance: f32,
    /// The mean distance of random pairs of chunks.
    pub background_mean: f32,
    /// The standard deviation of that distance.
    pub background_deviation: f32,
    /// The best BM25 score less the tenth best, divided by the sum of the inverse document frequencies (IDF) of the
    /// question's words.
    pub bm25_lead_share: f32,
    /// The part of that sum which belongs to words that the best chunk of hybrid retrieval has, 0 to 1.
    pub covered_share: f32,
    /// The part of that sum which belongs to words that no chunk has, 0 to 1.
    pub unknown_share: f32,
    /// The part of the ten nearest chunks that is also among the ten best by words, 0 to 1.
    pub agreement: f32,
    /// The number of different words of the question, without stop words.
    pub words: usize,
    /// The number of chunks of the index.
    pub chunks: usize,
    /// Whether each chunk is embedded with the name of its document.
    pub has_document_names: bool,
}

/// The fewest chunks for which the regression holds. In a smaller index, nearly every word of a question is unknown.
pub const MIN_CHUNKS: usize = 30;

/// The least probability for which a question gets context.
const MIN_PROBABILITY: f32 = 0.5;

/// A logistic regression. docs/quality.md says what it was fitted with, and which share of the questions it lets through.
struct Regression {
    constant: f32,
    /// The weights of the features, in their order.
    weights: [f32; FEATURES],
}

/// For chunks that are embedded alone.
const ALONE: Regression = Regression { constant: -18.9, weights: [1.12, 1.69, 2.95, 2.44, -4.35, 1.79, 5.33] };

/// For chunks that are embedded with the names of their documents. Their distances vary more.
const NAMED: Regression = Regression { constant: -18.35, weights: [1.46, 2.8, 3.69, 2.45, -4.14, 2.58, 4.59] };

/// A question with fewer words counts as if it had this many. The longer a question, the more likely is it that two of
/// its words meet in a chunk by chance; among short questions, the number of words tells nothing.
const MIN_WORDS: usize = 8;

/// The number of chunks of the index that the constant and the weights were fitted with.
const FITTED_CHUNKS: f32 = 2440.0;

/// What is added for each logarithm of the size by which an index is smaller: among few chunks, the best one stands out
/// more by chance.
const SMALLER_INDEX: f32 = -0.2;

/// The number of features.
const FEATURES: usize = 7;

impl Evidence {
    /// The features of the regression, each about -5 to 5.
    pub fn features(&self) -> [f32; FEATURES] {
        let deviations = |distance: f32| distance / self.background_deviation.max(1e-3);
        #[expect(clippy::cast_precision_loss, reason = "a question has few words")]
        let words = self.words.max(MIN_WORDS) as f32;
        [
            deviations(self.background_mean - self.nearest_distance).clamp(-10.0, 10.0),
            deviations(self.tenth_distance - self.nearest_distance).clamp(0.0, 3.0),
            self.bm25_lead_share.clamp(0.0, 1.5),
            self.covered_share.clamp(0.0, 1.0),
            self.unknown_share.clamp(0.0, 1.0),
            self.agreement.clamp(0.0, 1.0),
            words.ln().min(4.0),
        ]
    }

    /// The probability that the index can answer the question, 0 to 1, where as many questions can be answered as not.
    pub fn probability(&self) -> f32 {
        let Regression { constant, weights } = if self.has_document_names { NAMED } else { ALONE };
        let sum = weights.iter().zip(self.features()).map(|(weight, feature)| weight * feature).sum::<f32>();
        #[expect(clippy::cast_precision_loss, reason = "a size needs no more digits")]
        let chunks = (self.chunks.max(MIN_CHUNKS) as f32).min(FITTED_CHUNKS);
        let constant = constant + SMALLER_INDEX * (FITTED_CHUNKS / chunks).ln();
        1.0 / (1.0 + (-(constant + sum)).exp())
    }

    /// Whether the question gets context.
    pub fn is_answerable(&self) -> bool {
        self.probability() >= MIN_PROBABILITY
    }
}

#[cfg(test)]
mod tests;

//! Whether an index can answer a question at all (`retrieval.threshold: calibrated`).
//!
//! A fixed distance cannot tell: how near a good chunk is depends on the model, the corpus and the question. So the
//! decision is made once for each question, from what both searches found, by a logistic regression. Its inputs do not
//! depend on the model's scale: distances are compared with those of random pairs of chunks, BM25 scores with the best
//! that the words of the question could have.

/// What the searches by vectors and by words tell about a question.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Evidence {
    /// The squared L2 distance of the nearest chunk.
    pub nearest_distance: f32,
    /// The distance of the tenth nearest chunk, or of the last one if there are fewer.
    pub tenth_distance: f32,
    /// The mean distance of random pairs of chunks.
    pub background_mean: f32,
    /// The standard deviation of that distance.
    pub background_deviation: f32,
    /// The best BM25 score, divided by the sum of the inverse document frequencies (IDF) of the question's words.
    pub best_bm25_share: f32,
    /// The part of that sum which belongs to words that no chunk has, 0 to 1.
    pub unknown_share: f32,
    /// The part of the ten nearest chunks that is also among the ten best by words, 0 to 1.
    pub agreement: f32,
}

/// The least probability for which a question gets context.
const MIN_PROBABILITY: f32 = 0.5;

/// The weights of the regression: of the constant and of each feature, in their order.
const WEIGHTS: [f32; FEATURES + 1] = [0.0, 1.0, 0.0, 0.0, 0.0, 0.0];

/// The number of features.
const FEATURES: usize = 5;

impl Evidence {
    /// The features of the regression, each about -5 to 5.
    pub fn features(&self) -> [f32; FEATURES] {
        let deviations = |distance: f32| {
            let deviation = self.background_deviation.max(1e-3);
            ((self.background_mean - distance) / deviation).clamp(-10.0, 10.0)
        };
        [
            deviations(self.nearest_distance),
            deviations(self.nearest_distance) - deviations(self.tenth_distance),
            self.best_bm25_share.clamp(0.0, 3.0),
            self.unknown_share.clamp(0.0, 1.0),
            self.agreement.clamp(0.0, 1.0),
        ]
    }

    /// The probability that the index can answer the question, 0 to 1.
    pub fn probability(&self) -> f32 {
        let [constant, weights @ ..] = &WEIGHTS;
        let sum = weights.iter().zip(self.features()).map(|(weight, feature)| weight * feature).sum::<f32>();
        1.0 / (1.0 + (-(constant + sum)).exp())
    }

    /// Whether the question gets context.
    pub fn is_answerable(&self) -> bool {
        self.probability() >= MIN_PROBABILITY
    }
}

//! A loaded cross-encoder. It scores on the calling thread.

use std::sync::Arc;

use rten::{NodeId, ThreadPool, Value};
use rten_tensor::Tensor;
use rten_tensor::prelude::*;

use super::Error;
use super::pairs::PairEncoder;
use crate::files::{self, ModelFiles};
use crate::graph::Graph;
use crate::lane::{Limits, MAX_PADDED_BYTES, cut};
use crate::profile;

/// The name of the output with the scores, as exporters write it.
const OUTPUT: &str = "logits";

/// The limits of a batch. A pair has the length of both texts.
pub(super) const LIMITS: Limits = Limits { max_texts: 8, max_padded_bytes: MAX_PADDED_BYTES };

/// A model that reads a question and a passage together, and scores how well the passage answers the question. It has
/// no state between calls and can be shared between threads.
pub struct CrossEncoder {
    model_id: String,
    graph: Graph,
    output: NodeId,
    pairs: PairEncoder,
}

impl CrossEncoder {
    /// Loads weights and tokenizer, and scores two pairs as a check. Takes about a second: do not call it in an
    /// asynchronous task.
    ///
    /// `max_tokens` is the maximum size of a pair, by default the model's own.
    ///
    /// # Errors
    ///
    /// [`Error::Load`] names an invalid file, [`Error::Configuration`] describes an invalid `max_tokens`.
    pub fn load(model_id: &str, files: &ModelFiles, max_tokens: Option<usize>) -> Result<Self, Error> {
        let pairs = PairEncoder::load(&files.tokenizer, limit(files, max_tokens)?)?;
        let unusable = |message: String| Error::Load { path: files.model.display().to_string(), message };
        let graph = Graph::load(&files.model).map_err(unusable)?;
        let output = find_output(&graph).map_err(unusable)?;
        let model = Self { model_id: model_id.to_owned(), graph, output, pairs };
        let pool = Arc::new(ThreadPool::with_num_threads(1));
        model.score_batch(&pool, &[("probe", "probe"); 2]).map_err(|error| unusable(error.to_string()))?;
        Ok(model)
    }

    /// Scores passages: a higher score is better, and only the order matters. The scores are in the order of the
    /// passages. The end of a passage is not read if question and passage together have more than
    /// [`Self::max_tokens`]; a question may take half of that.
    ///
    /// `pool` should have one thread, because requests run in parallel and each is not split further.
    ///
    /// # Errors
    ///
    /// [`Error::Inference`] when the model fails, [`Error::NotFinite`] when a score is not finite.
    pub fn score(&self, pool: &Arc<ThreadPool>, question: &str, passages: &[&str]) -> Result<Vec<f32>, Error> {
        let lengths: Vec<usize> = passages.iter().map(|passage| pair_length(question, passage)).collect();
        let mut scores = vec![0.0; passages.len()];
        for positions in cut(&lengths, LIMITS) {
            let pairs: Vec<_> = positions.iter().map(|&position| (question, passages[position])).collect();
            for (position, score) in positions.into_iter().zip(self.score_batch(pool, &pairs)?) {
                scores[position] = score;
            }
        }
        Ok(scores)
    }

    /// Scores pairs of a question and a passage in a single run.
    pub(super) fn score_batch(&self, pool: &Arc<ThreadPool>, pairs: &[(&str, &str)]) -> Result<Vec<f32>, Error> {
        let encodings = pairs.iter().map(|(question, passage)| self.pairs.encode(question, passage));
        let encodings = encodings.collect::<Result<Vec<_>, _>>()?;
        let logits = self.graph.run(pool, &encodings, self.output).map_err(Error::Inference)?;
        let scores = self.scores(logits, pairs.len()).map_err(Error::Inference)?;
        if scores.iter().all(|score| score.is_finite()) { Ok(scores) } else { Err(Error::NotFinite) }
    }

    /// One score of each pair: the only logit, or how much a second one for "relevant" exceeds the first one.
    fn scores(&self, logits: Value, pairs: usize) -> Result<Vec<f32>, String> {
        let logits = Tensor::<f32>::try_from(logits).map_err(|_| format!("its output {OUTPUT} is not of type f32"))?;
        let shape = logits.shape().to_vec();
        let values = logits.into_data();
        match shape[..] {
            [count] | [count, 1] if count == pairs => Ok(values),
            [count, 2] if count == pairs => Ok(values.chunks_exact(2).map(|pair| pair[1] - pair[0]).collect()),
            _ => Err(format!(
                "its output {OUTPUT} has the shape {shape:?} for {pairs} pairs instead of one or two values for each; \
                 the outputs are {:?}",
                names(&self.graph)
            )),
        }
    }

    /// The name of the model.
    pub fn model_id(&self) -> &str {
        &self.model_id
    }

    /// Maximum size of a pair in tokens, including special tokens.
    pub fn max_tokens(&self) -> usize {
        self.pairs.max_tokens()
    }
}

/// The length of a pair in bytes.
pub(super) fn pair_length(question: &str, passage: &str) -> usize {
    question.len() + passage.len()
}

/// The limit of a pair, in tokens.
fn limit(files: &ModelFiles, chosen: Option<usize>) -> Result<usize, Error> {
    let unusable = |error: files::Error| Error::Configuration(error.to_string());
    let configs = files.read_configs().map_err(unusable)?;
    profile::max_tokens(&configs, chosen).map_err(|error| Error::Configuration(error.to_string()))
}

fn find_output(graph: &Graph) -> Result<NodeId, String> {
    let output = graph.outputs().into_iter().find(|(name, _)| *name == OUTPUT);
    output.map(|(_, node)| node).ok_or_else(|| {
        format!("its graph has no output {OUTPUT}, which a cross-encoder has; the outputs are {:?}", names(graph))
    })
}

fn names(graph: &Graph) -> Vec<&str> {
    graph.outputs().into_iter().map(|(name, _)| name).collect()
}

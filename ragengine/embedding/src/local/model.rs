//! A loaded model. It embeds texts on the calling thread.

use std::sync::Arc;

use rten::{ThreadPool, Value};
use rten_tensor::NdTensor;
use rten_tensor::prelude::*;
use tokenizers::Encoding;

use super::fingerprint::fingerprint;
use super::graph::{Output, find_output};
use super::pooling::pool;
use super::text::TextEncoder;
use crate::files::ModelFiles;
use crate::graph::Graph;
use crate::profile::Profile;
use crate::vector::normalise;
use crate::{Error, Purpose, Vector};

/// A loaded sentence-transformer. It has no state between calls and can be shared between threads.
pub struct Model {
    model_id: String,
    graph: Graph,
    output: Output,
    text: TextEncoder,
    profile: Profile,
    dimensions: usize,
    depends_on_batch: bool,
    fingerprint: String,
}

/// The largest difference of a value of a vector, alone and in a batch, that is rounding.
const ROUNDING: f32 = 1e-4;

impl Model {
    /// Loads weights and tokenizer, and embeds one word as a check. Takes about a second: do not call it in an
    /// asynchronous task.
    ///
    /// `model_id` is the name of the model. Of a directory, only the last part is used in the fingerprint.
    ///
    /// # Errors
    ///
    /// [`Error::Load`] names an invalid file, [`Error::Configuration`] describes invalid options.
    pub fn load(model_id: &str, files: &ModelFiles, profile: Profile) -> Result<Self, Error> {
        let text =
            TextEncoder::load(&files.tokenizer, profile.max_tokens, &profile.query_prefix, &profile.passage_prefix)?;
        let unusable = |message: String| Error::Load { path: files.model.display().to_string(), message };
        let graph = Graph::load(&files.model).map_err(unusable)?;
        let output = find_output(&graph).map_err(unusable)?;
        let fingerprint = fingerprint(model_id, files, &profile)?;
        let model_id = model_id.to_owned();
        let mut model =
            Self { model_id, graph, output, text, profile, dimensions: 0, depends_on_batch: false, fingerprint };
        (model.dimensions, model.depends_on_batch) = model.probe().map_err(|error| unusable(error.to_string()))?;
        Ok(model)
    }

    /// Embeds one batch in a single run. Each text is padded to the longest one, so that memory and time grow with
    /// texts × longest text. The vectors are in the order of the texts.
    ///
    /// `pool` should have one thread, because requests run in parallel and each is not split further.
    ///
    /// A query with more than [`Self::max_tokens`] tokens is truncated.
    ///
    /// # Errors
    ///
    /// [`Error::TooLong`] for a passage over the limit; [`Error::Inference`] when the model fails or its result is not
    /// finite.
    pub fn embed(&self, pool: &Arc<ThreadPool>, purpose: Purpose, texts: &[&str]) -> Result<Vec<Vector>, Error> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let encodings = texts
            .iter()
            .enumerate()
            .map(|(position, text)| self.text.encode(purpose, text, position))
            .collect::<Result<Vec<_>, _>>()?;
        let hidden = self.run(pool, &encodings)?;
        let mut vectors = self.pool(hidden, &encodings)?;
        if vectors.len() != texts.len() {
            return Err(Error::Inference(format!("it gave {} vectors for {} texts", vectors.len(), texts.len())));
        }
        for vector in &mut vectors {
            normalise(vector).map_err(|error| Error::Inference(format!("a vector is invalid: {error}")))?;
        }
        Ok(vectors)
    }

    fn run(&self, pool: &Arc<ThreadPool>, encodings: &[Encoding]) -> Result<Value, Error> {
        let (Output::Sentences(node) | Output::Tokens(node)) = self.output;
        self.graph.run(pool, encodings, node).map_err(Error::Inference)
    }

    fn pool(&self, hidden: Value, encodings: &[Encoding]) -> Result<Vec<Vector>, Error> {
        let shape_error = |_| Error::Inference("the model's output does not have the expected shape".to_owned());
        match self.output {
            Output::Sentences(_) => {
                let sentences = NdTensor::<f32, 2>::try_from(hidden).map_err(shape_error)?;
                let [_, width] = sentences.shape();
                Ok(sentences.into_data().chunks_exact(width.max(1)).map(<[f32]>::to_vec).collect())
            }
            Output::Tokens(_) => {
                let tokens = NdTensor::<f32, 3>::try_from(hidden).map_err(shape_error)?;
                let [_, padded, width] = tokens.shape();
                let values = tokens.into_data();
                let texts = values.chunks_exact((padded * width).max(1)).zip(encodings);
                Ok(texts
                    .map(|(rows, encoding)| pool(self.profile.pooling, rows, encoding.len(), width.max(1)))
                    .collect())
            }
        }
    }

    /// The number of dimensions, and whether the vector of a text is another one in a batch.
    fn probe(&self) -> Result<(usize, bool), Error> {
        let pool = Arc::new(ThreadPool::with_num_threads(1));
        let embed = |texts: &[&str]| self.embed(&pool, Purpose::Passage, texts);
        let alone = embed(&["probe"])?.into_iter().next().unwrap_or_default();
        let in_batch = embed(&["probe", "A text of other words, and a longer one."])?.into_iter().next();
        let differ = |(left, right): (&f32, &f32)| (left - right).abs() > ROUNDING;
        Ok((alone.len(), in_batch.is_some_and(|in_batch| alone.iter().zip(&in_batch).any(differ))))
    }

    /// The name of the model.
    pub fn model_id(&self) -> &str {
        &self.model_id
    }

    /// Number of dimensions of the vectors.
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// Whether the vector of a text depends on the other texts of its batch: models with int8 weights often quantise
    /// over the whole batch. [`super::Service`] embeds texts one by one then, so that a text has one vector.
    pub fn depends_on_batch(&self) -> bool {
        self.depends_on_batch
    }

    /// Maximum text size in tokens, including prefix and special tokens.
    pub fn max_tokens(&self) -> usize {
        self.profile.max_tokens
    }

    /// Maximum passage size without prefix and special tokens, as counted by [`Self::count_tokens`].
    pub fn max_passage_tokens(&self) -> usize {
        self.text.max_passage_tokens()
    }

    /// Maximum query size without prefix and special tokens, as counted by [`Self::count_tokens`].
    pub fn max_query_tokens(&self) -> usize {
        self.text.max_query_tokens()
    }

    /// Counts the tokens of a text, without prefix and special tokens.
    pub fn count_tokens(&self, text: &str) -> usize {
        self.text.count(text)
    }

    /// Number of special tokens added to every text.
    pub fn special_tokens(&self) -> usize {
        self.text.special_tokens()
    }

    /// The profile of the model.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// Vectors are comparable only if their fingerprints are equal: name, contents of the files, pooling, limit,
    /// prefixes.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }
}

use std::sync::Arc;
use std::time::Instant;

use ragengine_metrics::metrics;

use crate::{Embedder, Error, Purpose};

metrics! {
    /// What Prometheus sees of embedding.
    pub struct EmbeddingMetrics: "embedding_" {
        /// Time until the texts of one request have vectors, waiting included. `purpose` is `query` or `passage`.
        duration_seconds: Durations["purpose"],
        /// Texts that were given vectors.
        texts_total: Counters["purpose"],
        /// Requests for vectors that failed.
        errors_total: Counters["kind"],
    }
}

/// The embedding model, with its measurements. Cheap to clone.
#[derive(Clone)]
pub struct Embedding {
    embedder: Arc<Embedder>,
    dimensions: usize,
    metrics: EmbeddingMetrics,
}

impl Embedding {
    /// Wraps a model whose width is known.
    pub fn new(embedder: Embedder, dimensions: usize, metrics: EmbeddingMetrics) -> Self {
        Self { embedder: Arc::new(embedder), dimensions, metrics }
    }

    /// The vector of a question.
    ///
    /// # Errors
    ///
    /// When too many wait already, or the model or endpoint fails.
    pub async fn embed_query(&self, text: &str) -> Result<Vec<f32>, Error> {
        let mut vectors = self.embed(Purpose::Query, "query", vec![text.to_owned()]).await?;
        vectors.pop().ok_or_else(|| Error::BadReply("it has no vector".to_owned()))
    }

    /// The vectors of texts that a request waits for, such as the sentences of an answer.
    ///
    /// # Errors
    ///
    /// As [`Self::embed_query`].
    pub async fn embed_queries(&self, texts: Vec<String>) -> Result<Vec<Vec<f32>>, Error> {
        self.embed(Purpose::Query, "query", texts).await
    }

    /// The vectors of chunks.
    ///
    /// # Errors
    ///
    /// When a chunk is too long, or the model or endpoint fails.
    pub async fn embed_passages(&self, texts: Vec<String>) -> Result<Vec<Vec<f32>>, Error> {
        self.embed(Purpose::Passage, "passage", texts).await
    }

    async fn embed(&self, purpose: Purpose, label: &'static str, texts: Vec<String>) -> Result<Vec<Vec<f32>>, Error> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let started = Instant::now();
        let count = texts.len();
        let result = self.embedder.embed(purpose, texts).await;
        self.metrics.duration_seconds.with_label_values(&[label]).observe(started.elapsed().as_secs_f64());
        match &result {
            Ok(_) => self.metrics.texts_total.with_label_values(&[label]).inc_by(count as u64),
            Err(error) => self.metrics.errors_total.with_label_values(&[error.kind()]).inc(),
        }
        result
    }

    /// Tokens of a text alone.
    pub fn count_tokens(&self, text: &str) -> usize {
        self.embedder.count_tokens(text)
    }

    /// Longest passage as [`Self::count_tokens`] counts it.
    pub fn max_passage_tokens(&self) -> usize {
        self.embedder.max_passage_tokens()
    }

    /// Longest query as [`Self::count_tokens`] counts it: a longer one would be cut.
    pub fn max_query_tokens(&self) -> usize {
        self.embedder.max_query_tokens()
    }

    /// Width of the vectors.
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// What must be equal for two vectors to be comparable.
    pub fn fingerprint(&self) -> &str {
        self.embedder.fingerprint()
    }

    /// The model's name.
    pub fn model_id(&self) -> &str {
        self.embedder.model_id()
    }
}

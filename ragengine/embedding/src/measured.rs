use std::sync::Arc;
use std::time::Instant;

use ragengine_metrics::metrics;

use crate::{Embedder, Error, Purpose};

metrics! {
    /// Metrics of embedding.
    pub struct EmbeddingMetrics: "embedding_" {
        /// Time to embed the texts of one request, including waiting. `purpose` is `query` or `passage`.
        duration_seconds: Durations["purpose"],
        /// Embedded texts.
        texts_total: Counters["purpose"],
        /// Failed requests for embeddings.
        errors_total: Counters["kind"],
    }
}

/// The end of a fingerprint of vectors of texts with the names of their documents.
const DOCUMENT_NAMES: &str = " document_names=1";

/// Whether vectors with this fingerprint are those of texts with the names of their documents.
pub fn has_document_names(fingerprint: &str) -> bool {
    fingerprint.ends_with(DOCUMENT_NAMES)
}

/// The embedding model, with metrics. Cheap to clone.
#[derive(Clone)]
pub struct Embedding {
    embedder: Arc<Embedder>,
    dimensions: usize,
    metrics: EmbeddingMetrics,
    names: Option<NamedDocuments>,
}

/// That chunks are embedded with the names of their documents.
#[derive(Clone)]
struct NamedDocuments {
    /// The model's fingerprint, for vectors of such texts.
    fingerprint: Arc<str>,
}

impl Embedding {
    /// Wraps a model with a known number of dimensions.
    pub fn new(embedder: Embedder, dimensions: usize, metrics: EmbeddingMetrics) -> Self {
        Self { embedder: Arc::new(embedder), dimensions, metrics, names: None }
    }

    /// The same model for chunks that are embedded with the names of their documents, or without them. Vectors of the
    /// two cannot be mixed in one index, so their fingerprints differ.
    #[must_use]
    pub fn with_document_names(mut self, has_names: bool) -> Self {
        let fingerprint = || format!("{}{DOCUMENT_NAMES}", self.embedder.fingerprint()).into();
        self.names = has_names.then(|| NamedDocuments { fingerprint: fingerprint() });
        self
    }

    /// Whether a chunk is embedded with the name of its document.
    pub fn has_document_names(&self) -> bool {
        self.names.is_some()
    }

    /// Embeds a query.
    ///
    /// # Errors
    ///
    /// When too many queries wait, or the model or endpoint fails.
    pub async fn embed_query(&self, text: &str) -> Result<Vec<f32>, Error> {
        let mut vectors = self.embed(Purpose::Query, "query", vec![text.to_owned()]).await?;
        vectors.pop().ok_or_else(|| Error::BadReply("it has no vector".to_owned()))
    }

    /// Embeds texts with low latency, such as the sentences of an answer.
    ///
    /// # Errors
    ///
    /// As [`Self::embed_query`].
    pub async fn embed_queries(&self, texts: Vec<String>) -> Result<Vec<Vec<f32>>, Error> {
        self.embed(Purpose::Query, "query", texts).await
    }

    /// Embeds chunks.
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

    /// Counts the tokens of a text, without prefix and special tokens.
    pub fn count_tokens(&self, text: &str) -> usize {
        self.embedder.count_tokens(text)
    }

    /// Maximum passage size, as counted by [`Self::count_tokens`].
    pub fn max_passage_tokens(&self) -> usize {
        self.embedder.max_passage_tokens()
    }

    /// Maximum query size, as counted by [`Self::count_tokens`]. A longer query is truncated.
    pub fn max_query_tokens(&self) -> usize {
        self.embedder.max_query_tokens()
    }

    /// Number of dimensions of the vectors.
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// Vectors are comparable only if their fingerprints are equal.
    pub fn fingerprint(&self) -> &str {
        self.names.as_ref().map_or_else(|| self.embedder.fingerprint(), |names| &names.fingerprint)
    }

    /// The name of the model.
    pub fn model_id(&self) -> &str {
        self.embedder.model_id()
    }
}

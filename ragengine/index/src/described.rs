//! What an index says of itself.

use ragengine_client::wire::IndexDescription;
use ragengine_embedding::Embedding;

use super::{Index, IndexError};

/// Sizes of an index, or of one of its sources.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IndexSize {
    /// Documents.
    pub documents: u64,
    /// Chunks.
    pub chunks: u64,
    /// Bytes of the documents' texts.
    pub text_bytes: u64,
}

impl Index {
    /// The index as the API describes it.
    pub fn describe(&self, data_id: &str) -> IndexDescription {
        let size = self.size();
        let (graph_chunks, vector_index) = {
            let view = self.view.read();
            (view.vectors().built() as u64, view.vectors().largest_kind().to_string())
        };
        IndexDescription {
            name: self.name.clone(),
            documents: size.documents,
            chunks: size.chunks,
            bytes: size.text_bytes,
            graph_chunks,
            vector_index,
            settings: self.record.settings(),
            fingerprint: self.record.fingerprint(),
            model: self.record.model.clone(),
            data_id: data_id.to_owned(),
            next_generation: None,
        }
    }

    /// Refuses to let vectors of different models meet.
    ///
    /// # Errors
    ///
    /// [`IndexError::OtherModel`] when the index was made with another model than the one in use.
    pub fn require_model(&self, embedding: &Embedding) -> Result<(), IndexError> {
        let record = &self.record;
        if record.embedding_fingerprint == embedding.fingerprint() && record.dimensions == embedding.dimensions() {
            return Ok(());
        }
        let shown = |model: &str, dimensions: usize| format!("{model} ({dimensions} dimensions)");
        Err(IndexError::OtherModel {
            index: self.name.clone(),
            made_with: shown(&record.model, record.dimensions),
            in_use: shown(embedding.model_id(), embedding.dimensions()),
        })
    }
}

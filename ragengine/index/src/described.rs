//! Descriptions of an index for the API.

use ragengine_client::wire::IndexDescription;
use ragengine_embedding::Embedding;

use super::record::IndexRecord;
use super::{Index, IndexError};

/// The size of an index, or of one of its sources.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IndexSize {
    /// The number of documents.
    pub documents: u64,
    /// The number of chunks.
    pub chunks: u64,
    /// The size of all documents' texts, in bytes.
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
}

impl IndexRecord {
    /// Checks that an index with this record has vectors of this model. Vectors of different models cannot be compared.
    ///
    /// # Errors
    ///
    /// [`IndexError::OtherModel`] if the index was made with another model.
    pub fn require_model(&self, index: &str, embedding: &Embedding) -> Result<(), IndexError> {
        if self.embedding_fingerprint == embedding.fingerprint() && self.dimensions == embedding.dimensions() {
            return Ok(());
        }
        let shown = |model: &str, dimensions: usize| format!("{model} ({dimensions} dimensions)");
        Err(IndexError::OtherModel {
            index: index.to_owned(),
            made_with: shown(&self.model, self.dimensions),
            in_use: shown(embedding.model_id(), embedding.dimensions()),
        })
    }
}

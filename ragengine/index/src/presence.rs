//! Whether a chunk is still there.

use crate::{Index, IndexError};

impl Index {
    /// Whether a document still has this chunk, unchanged.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn has_chunk(&self, doc_id: &str, ordinal: u32, node_id: &str) -> Result<bool, IndexError> {
        let reader = self.reader();
        let Some(document) = reader.document_by_id(doc_id)?.filter(|document| ordinal < document.chunks) else {
            return Ok(false);
        };
        let chunks = reader.chunks([document.first_row + u64::from(ordinal)])?;
        Ok(chunks.iter().any(|chunk| self.node_id(doc_id, chunk.ordinal, &chunk.hash) == node_id))
    }
}

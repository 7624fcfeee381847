use std::collections::HashMap;
use std::sync::Arc;

use jiff::civil::Date;
use ragengine_index::search::{Found, RetrievedChunk, day_of, with_page};
use ragengine_index::{IndexError, node_id};
use ragengine_vector_database::Hit;
use uuid::Uuid;

use super::ExternalIndex;
use super::fault::of_engine;

/// The chunks of results. The row of a result is its position here.
pub struct FoundChunks {
    index: Arc<ExternalIndex>,
    hits: Vec<Hit>,
    vectors: HashMap<Uuid, Vec<f32>>,
}

impl FoundChunks {
    pub(super) fn new(index: Arc<ExternalIndex>, hits: Vec<Hit>, vectors: HashMap<Uuid, Vec<f32>>) -> Self {
        Self { index, hits, vectors }
    }

    fn hit(&self, found: &Found) -> &Hit {
        // The rows were given out by the search that made both.
        &self.hits[usize::try_from(found.row).unwrap_or(usize::MAX)]
    }

    /// Reads the vectors of results that are not known yet.
    ///
    /// # Errors
    ///
    /// If the vector database fails.
    pub async fn load_vectors(&mut self, found: &[Found]) -> Result<(), IndexError> {
        let ids = found.iter().map(|found| self.hit(found).id);
        let ids: Vec<Uuid> = ids.filter(|id| !self.vectors.contains_key(id)).collect();
        if !ids.is_empty() {
            self.vectors.extend(self.index.engine.vectors(&ids).await.map_err(of_engine)?);
        }
        Ok(())
    }

    /// Whether the vector of a result is known.
    pub fn has_vector(&self, found: &Found) -> bool {
        self.vectors.contains_key(&self.hit(found).id)
    }

    /// The vector of a result.
    ///
    /// # Errors
    ///
    /// [`IndexError::Superseded`] if its document was replaced before the vector was read.
    pub fn vector(&self, found: &Found) -> Result<Vec<f32>, IndexError> {
        let vector = self.vectors.get(&self.hit(found).id).cloned();
        vector.ok_or_else(|| IndexError::Superseded(self.index.name().to_owned()))
    }

    /// The ids of results in the API, in order.
    pub fn node_ids(&self, found: &[Found]) -> Vec<String> {
        found.iter().map(|found| self.node_id(self.hit(found))).collect()
    }

    /// The days of the documents of results, in order.
    pub fn days(&self, found: &[Found]) -> Vec<Option<Date>> {
        let day = |found| {
            let document = &self.hit(found).document;
            day_of(&document.metadata, &document.doc_id)
        };
        found.iter().map(day).collect()
    }

    /// The chunks of results, in order.
    pub fn read(&self, found: &[Found]) -> Vec<RetrievedChunk> {
        let read = |found: &Found| {
            let hit = self.hit(found);
            RetrievedChunk {
                found: *found,
                node_id: self.node_id(hit),
                doc_id: hit.document.doc_id.clone(),
                ordinal: hit.ordinal,
                heading: hit.heading.clone(),
                text: hit.text.clone(),
                metadata: with_page(Arc::new(hit.document.metadata.clone()), hit.page),
                metadata_bytes: hit.document.metadata_bytes,
            }
        };
        found.iter().map(read).collect()
    }

    fn node_id(&self, hit: &Hit) -> String {
        node_id(self.index.name(), &hit.document.doc_id, hit.ordinal, &hash_of(&hit.hash))
    }
}

/// The hash of a chunk, from its hexadecimal digits.
pub(super) fn hash_of(digits: &str) -> [u8; 32] {
    let mut hash = [0; 32];
    // What this crate wrote has 64 digits. An id of zeros is none that a chunk has.
    if hex::decode_to_slice(digits, &mut hash).is_err() {
        hash = [0; 32];
    }
    hash
}

use serde::{Deserialize, Serialize};

use crate::record::{ChunkRecord, DocumentRecord};

/// A piece of an index. Postcard writes the fields in their order: a change here, or in the records, is a new format of archives.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Row {
    /// A document. Its chunks follow it.
    Document {
        /// Its number.
        number: u64,
        /// All but its text.
        record: DocumentRecord,
        /// Its text.
        text: String,
        /// What its source calls this state of it.
        revision: Option<String>,
    },
    /// A chunk of the document before it, in the document's order.
    Chunk {
        /// The chunk.
        record: ChunkRecord,
        /// Its vector.
        vector: Vec<f32>,
        /// The page that it stands on.
        page: Option<u32>,
    },
    /// A source's latest synchronisation that has ended, as JSON. These come last.
    Sync {
        /// The source.
        source: String,
        /// Its record.
        json: String,
    },
}

impl Row {
    /// What it has in bytes, roughly.
    pub fn bytes(&self) -> u64 {
        let bytes = match self {
            Self::Document { record, text, .. } => text.len() + record.metadata.len() + 2 * record.doc_id.len(),
            Self::Chunk { record, vector, .. } => record.text.len() + size_of_val(vector.as_slice()),
            Self::Sync { json, .. } => json.len(),
        };
        bytes as u64 + 200
    }
}

use serde::{Deserialize, Serialize};

use crate::record::{ChunkRecord, DocumentRecord};

/// A row of an archive. Postcard encodes the fields in order, so a change here or in the records is a new archive
/// format.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Row {
    /// A document. The rows of its chunks follow it.
    Document {
        /// The document's number.
        number: u64,
        /// The record, without the text.
        record: DocumentRecord,
        /// The text.
        text: String,
        /// The revision that the document's source reported.
        revision: Option<String>,
    },
    /// A chunk of the preceding document, in the document's order.
    Chunk {
        /// The record.
        record: ChunkRecord,
        /// The vector.
        vector: Vec<f32>,
        /// The page that the chunk is on, if the document has pages.
        page: Option<u32>,
    },
    /// The last finished synchronisation of a source, as JSON. These rows come last.
    Sync {
        /// The name of the source.
        source: String,
        /// A `SourceSync` as JSON.
        json: String,
    },
}

impl Row {
    /// The approximate size in memory, in bytes.
    pub fn bytes(&self) -> u64 {
        let bytes = match self {
            Self::Document { record, text, .. } => text.len() + record.metadata.len() + 2 * record.doc_id.len(),
            Self::Chunk { record, vector, .. } => record.text.len() + size_of_val(vector.as_slice()),
            Self::Sync { json, .. } => json.len(),
        };
        bytes as u64 + 200
    }
}

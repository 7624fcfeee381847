use std::io;

/// Why a persisted index cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum KaitoError {
    /// A file cannot be read.
    #[error("cannot read {file}: {error}")]
    Read {
        /// The name of the file in the folder.
        file: &'static str,
        /// The reason.
        error: io::Error,
    },
    /// A file does not have the structure that llama-index writes.
    #[error("{file} is not a store of llama-index: {error}")]
    Store {
        /// The name of the file.
        file: &'static str,
        /// The reason.
        error: serde_json::Error,
    },
    /// The file of the vectors is not one that KAITO writes.
    #[error("{file} cannot be read as a flat FAISS index: {reason}")]
    Faiss {
        /// The name of the file.
        file: &'static str,
        /// The reason.
        reason: String,
    },
    /// The file that says which vector belongs to which chunk is damaged.
    #[error("{0} does not say which vector belongs to which chunk")]
    IdMap(&'static str),
    /// A chunk has no vector, or its number is that of several.
    #[error("the FAISS file has {count} vectors for chunk '{node_id}', not 1")]
    Vector {
        /// The chunk.
        node_id: String,
        /// The vectors with its number.
        count: usize,
    },
    /// Several chunks have the number of one vector, and only one of them is its chunk.
    #[error("{chunks} chunks have the number of the vector of chunk '{node_id}', so the vector may be that of another")]
    SharedNumber {
        /// The chunk.
        node_id: String,
        /// The chunks with its number.
        chunks: usize,
    },
    /// The folder has no or several indexes.
    #[error("index_store.json has {0} indexes, not 1: persist each index to its own folder with POST /persist/NAME")]
    Indexes(usize),
    /// A document has a chunk that is not in the store.
    #[error("docstore.json lacks chunk '{node_id}' of document '{doc_id}'")]
    MissingChunk {
        /// The document.
        doc_id: String,
        /// The chunk.
        node_id: String,
    },
}

impl KaitoError {
    /// The error's kind, for logs.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Read { .. } => "read",
            Self::Store { .. } => "store",
            Self::Faiss { .. } => "faiss",
            Self::IdMap(_) => "id_map",
            Self::Vector { .. } => "vector",
            Self::SharedNumber { .. } => "shared_number",
            Self::Indexes(_) => "indexes",
            Self::MissingChunk { .. } => "missing_chunk",
        }
    }
}

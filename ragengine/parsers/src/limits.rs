use serde::{Deserialize, Serialize};

/// Limits for one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Limits {
    /// Maximum size of a file in bytes.
    pub max_file_bytes: u64,
    /// Maximum length of the text of one document in bytes of UTF-8. The server accepts 2 MiB.
    pub max_document_bytes: usize,
    /// Maximum number of documents in one file.
    pub max_documents: usize,
    /// Timeout of a worker for one file, in seconds.
    pub max_seconds: u32,
    /// Maximum memory of a worker for one file in bytes, in addition to its initial memory.
    pub max_memory_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_file_bytes: 64 << 20,
            max_document_bytes: 2 << 20,
            max_documents: 100_000,
            max_seconds: 30,
            max_memory_bytes: 64 << 20,
        }
    }
}

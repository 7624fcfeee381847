use serde::{Deserialize, Serialize};

/// What one file may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Limits {
    /// The largest file, in bytes.
    pub max_file_bytes: u64,
    /// The longest text of one document, in bytes of UTF-8. The server takes 2 MiB.
    pub max_document_bytes: usize,
    /// The most documents that one file may make.
    pub max_documents: usize,
    /// How long a worker may take for one file, in seconds.
    pub max_seconds: u32,
    /// How much memory a worker may take for one file, in bytes, beside what it has when it begins.
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

use ragengine_json::bounded_list;
use ragengine_settings::EmbeddingSource;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use crate::record::IndexRecord;

/// The most indexes in one archive. Each index has files on disk, so no server has more.
const MAX_INDEXES: usize = 100_000;

/// The longest embedding settings in an index's header, in bytes.
const MAX_SOURCE_BYTES: usize = 64 << 10;

/// The first entry of an archive. It says whether the archive can be read, and which indexes it has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The format of the archive.
    pub format: u32,
    /// The version of RAGEngine that wrote it.
    pub version: String,
    /// When it was started (RFC 3339).
    pub created_at: String,
    /// The id of the data folder that it was made from.
    pub data_id: String,
    /// The names of its indexes, in the order in which they follow.
    #[serde(deserialize_with = "names")]
    pub indexes: Vec<String>,
}

impl Manifest {
    /// The manifest of an archive that starts now.
    pub fn new(data_id: &str, indexes: Vec<String>) -> Self {
        Self {
            format: super::FORMAT,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            created_at: jiff::Timestamp::now().to_string(),
            data_id: data_id.to_owned(),
            indexes,
        }
    }
}

fn names<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    bounded_list(deserializer, MAX_INDEXES)
}

/// The first entry of an index in an archive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IndexHeader {
    /// How the index was made, including its embedding model and its chunking.
    pub record: IndexRecord,
    /// How many documents follow.
    pub documents: u64,
    /// How many chunks follow.
    pub chunks: u64,
    /// The number of the next document. Numbers are never reused, not even in a copy.
    pub next_document: u64,
    /// The row of the next chunk.
    pub next_row: u64,
    /// The settings of the embedding model that made the vectors. They name secrets and contain none. None if they are
    /// not known or another version wrote them in a form that this version cannot read.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "source_of_any_version")]
    pub embedding: Option<EmbeddingSource>,
}

/// Settings that this version cannot read count as missing, because the index is readable without them. The JSON stays
/// text until it is parsed as settings: it is untrusted, and parsed as a `Value` it could need gigabytes.
fn source_of_any_version<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<EmbeddingSource>, D::Error> {
    let json = Box::<RawValue>::deserialize(deserializer)?;
    if json.get().len() <= MAX_SOURCE_BYTES { Ok(serde_json::from_str(json.get()).ok()) } else { Ok(None) }
}

/// The format, which is read before the other fields because newer formats may have other fields.
#[derive(Debug, Deserialize)]
pub(super) struct FormatOnly {
    pub format: u32,
}

/// The last entry of an archive.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct End {
    /// SHA-256 over the names, lengths and contents of all entries before, in hexadecimal.
    pub sha256: String,
}

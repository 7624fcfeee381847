use ragengine_json::bounded_list;
use ragengine_settings::EmbeddingSource;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use crate::record::IndexRecord;

/// Nobody has as many indexes in one server: each has files of its own.
const MAX_INDEXES: usize = 100_000;

/// The settings of a model are not longer.
const MAX_SOURCE_BYTES: usize = 64 << 10;

/// What an archive begins with: enough to know whether it can be read, and into what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The layout of the archive.
    pub format: u32,
    /// The version that wrote it.
    pub version: String,
    /// When it was begun.
    pub created_at: String,
    /// The id of the data folder that it was made from.
    pub data_id: String,
    /// The indexes in it, in their order.
    #[serde(deserialize_with = "names")]
    pub indexes: Vec<String>,
}

impl Manifest {
    /// The manifest of an archive that is begun now.
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

/// What an index begins with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IndexHeader {
    /// How it was made: its embedding model and its chunking among it.
    pub record: IndexRecord,
    /// How many documents follow.
    pub documents: u64,
    /// How many chunks follow.
    pub chunks: u64,
    /// The number that its next document gets: no number is given twice, not even in a copy.
    pub next_document: u64,
    /// The row that its next chunk gets.
    pub next_row: u64,
    /// The settings of the model that made its vectors, which name secrets and hold none. None: nobody has kept them, or a version has that has
    /// others.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "source_of_any_version")]
    pub embedding: Option<EmbeddingSource>,
}

/// What another version says of its settings in other words is as good as nothing: the index can be read all the same. It stays text until it
/// is read as settings, because anybody may have written it, and as values it could take gigabytes.
fn source_of_any_version<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<EmbeddingSource>, D::Error> {
    let json = Box::<RawValue>::deserialize(deserializer)?;
    match json.get().len() <= MAX_SOURCE_BYTES {
        true => Ok(serde_json::from_str(json.get()).ok()),
        false => Ok(None),
    }
}

/// The only field of a manifest that is looked at before the others: those of a newer format may be other ones.
#[derive(Debug, Deserialize)]
pub(super) struct FormatOnly {
    pub format: u32,
}

/// What an archive ends with.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct End {
    /// SHA-256 over the names, lengths and contents of all entries before, in hexadecimal.
    pub sha256: String,
}

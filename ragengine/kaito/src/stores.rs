//! The JSON files of llama-index, as far as they are read.

use std::collections::HashMap;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};

/// `docstore.json`.
#[derive(Debug, Deserialize)]
pub struct DocumentStore {
    /// The chunks, by their ids.
    #[serde(rename = "docstore/data", default)]
    pub chunks: HashMap<String, Wrapped>,
    /// The documents, by their ids, in the order in which they were added.
    #[serde(rename = "docstore/ref_doc_info", default)]
    pub documents: Map<String, Value>,
}

/// What llama-index puts around a chunk.
#[derive(Debug, Deserialize)]
pub struct Wrapped {
    /// The chunk.
    #[serde(rename = "__data__")]
    pub data: Chunk,
}

/// A chunk, which llama-index calls a `TextNode`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Chunk {
    /// Its text.
    pub text: String,
    /// Where it begins in its document, in characters. llama-index searches for the text, so that in repetitive
    /// documents the place may be an earlier one.
    pub start_char_idx: Option<usize>,
}

/// A document, with the chunks made from it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Document {
    /// The ids of its chunks, in order.
    pub node_ids: Vec<String>,
    /// Its metadata.
    pub metadata: Map<String, Value>,
}

/// `index_store.json`.
#[derive(Debug, Deserialize)]
pub struct IndexStore {
    /// The indexes, by their names.
    #[serde(rename = "index_store/data", default)]
    pub indexes: HashMap<String, IgnoredAny>,
}

/// `index_store.json`, with what it says about vectors.
#[derive(Debug, Deserialize)]
pub struct IndexNodes {
    /// The indexes, by their names.
    #[serde(rename = "index_store/data", default)]
    pub indexes: HashMap<String, WrappedIndex>,
}

/// What llama-index puts around an index.
#[derive(Debug, Deserialize)]
pub struct WrappedIndex {
    /// An [`IndexStructure`] as JSON.
    #[serde(rename = "__data__")]
    pub data: String,
}

/// An index, which llama-index calls an `IndexDict`.
#[derive(Debug, Deserialize)]
pub struct IndexStructure {
    /// The chunks, by the numbers of their vectors. If there is an `id_map.json`, by their own ids instead.
    pub nodes_dict: HashMap<String, String>,
}

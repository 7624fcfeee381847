mod memory;

use ragengine_json::{bounded_list, each_item};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::{IntoParams, ToSchema};

use self::memory::{MAX_UNEXPLAINED_BYTES, MemoryUse};
use super::{MAX_ITEMS, Metadata};

/// A document to store.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Document {
    /// The id, 1 to 512 bytes. A stored document with the same id is replaced. If not set or empty: the SHA-256 of the
    /// text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doc_id: Option<String>,
    /// The text. It must not be blank.
    pub text: String,
    /// Metadata. `title`, `url` and `page` are shown to the language model. `split_type` (`default`, `markdown`, `code`
    /// or `pages`) and `language` determine how the document is split into chunks.
    #[serde(default, deserialize_with = "super::metadata")]
    #[schema(value_type = Object)]
    pub metadata: Metadata,
    /// The name of its source, which groups documents for synchronisation. It is not shown to the language model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The revision of the document in its source, such as an ETag: at most 256 bytes, not interpreted by the server.
    /// It is listed with the documents of the source, so that a client can skip unchanged documents. If text and
    /// metadata are unchanged, only the revision is stored, and omitting it keeps the stored one. A changed document
    /// without a revision loses the stored one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
}

/// Deserializes documents within a memory limit that depends on their length (see [`memory`]).
fn documents<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Document>, D::Error> {
    let (mut documents, mut memory_use) = (Vec::new(), MemoryUse::default());
    each_item(deserializer, |document: Document| {
        if documents.len() == MAX_ITEMS {
            return Err(D::Error::custom(format_args!("has more than {MAX_ITEMS} items: send them in parts")));
        }
        memory_use.add(&document);
        if memory_use.is_too_much() {
            let max_mib = MAX_UNEXPLAINED_BYTES >> 20;
            return Err(D::Error::custom(format_args!(
                "has documents that, with their metadata, take {max_mib} MiB of memory more than one and a half times \
                 their bytes: send them in parts"
            )));
        }
        documents.push(document);
        Ok(())
    })?;
    Ok(documents)
}

fn ids<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    bounded_list(deserializer, MAX_ITEMS)
}

/// A stored document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct StoredDocument {
    /// The id.
    pub doc_id: String,
    /// The text.
    pub text: String,
    /// Metadata.
    #[schema(value_type = Object)]
    pub metadata: Metadata,
    /// The name of its source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// Documents for an index, which is created if it does not exist.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AddDocuments {
    /// The name of the index: 1 to 63 letters, digits, `.`, `_` or `-`, with a letter or digit at both ends.
    pub index_name: String,
    /// The documents.
    #[serde(deserialize_with = "documents")]
    pub documents: Vec<Document>,
}

/// Documents that replace stored documents with the same ids.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct UpdateDocuments {
    /// The documents. Each must have a `doc_id`.
    #[serde(deserialize_with = "documents")]
    pub documents: Vec<Document>,
}

/// The result of updating documents.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct UpdatedDocuments {
    /// The documents that were changed.
    pub updated_documents: Vec<StoredDocument>,
    /// The documents that were already identical.
    pub unchanged_documents: Vec<StoredDocument>,
    /// The documents whose ids are not in the index. They were not added.
    pub not_found_documents: Vec<StoredDocument>,
}

/// Documents to delete.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DeleteDocuments {
    /// The ids of the documents.
    #[serde(deserialize_with = "ids")]
    pub doc_ids: Vec<String>,
}

/// The result of deleting documents.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DeletedDocuments {
    /// The ids of the deleted documents.
    pub deleted_doc_ids: Vec<String>,
    /// The ids that were not in the index.
    pub not_found_doc_ids: Vec<String>,
}

/// Selects documents of an index, in the order in which they were added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ListDocuments {
    /// Maximum number of documents, 1 to 100.
    #[serde(default = "default_limit")]
    #[param(minimum = 1, maximum = 100, default = 10)]
    pub limit: usize,
    /// Number of documents to skip.
    #[serde(default)]
    pub offset: usize,
    /// Maximum number of characters shown of each text, at least 1. The texts of a page have at most 4,194,304
    /// characters together: see `is_truncated`.
    #[serde(default = "default_max_text_length")]
    #[param(minimum = 1, default = 1000)]
    pub max_text_length: usize,
    /// A JSON object: restricts the list to documents whose metadata has these values. A list matches any of its
    /// values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(example = r#"{"team": "platform"}"#)]
    pub metadata_filter: Option<String>,
}

fn default_limit() -> usize {
    10
}

fn default_max_text_length() -> usize {
    1000
}

/// A page of an index's documents.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DocumentList {
    /// The documents of this page.
    pub documents: Vec<ListedDocument>,
    /// Number of documents in this page.
    pub count: usize,
    /// Number of matching documents.
    pub total_items: usize,
}

/// A document in a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ListedDocument {
    /// The id.
    pub doc_id: String,
    /// The text, or its beginning.
    pub text: String,
    /// Metadata.
    #[schema(value_type = Object)]
    pub metadata: Metadata,
    /// The name of its source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Whether only the beginning of the text is shown.
    pub is_truncated: bool,
}

/// A document with its whole text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct WholeDocument {
    /// The id.
    pub doc_id: String,
    /// The text.
    pub text: String,
    /// Metadata.
    #[schema(value_type = Object)]
    pub metadata: Metadata,
    /// The name of its source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The places of its chunks, in order.
    pub chunks: Vec<ChunkPlace>,
}

/// The place of a chunk in its document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChunkPlace {
    /// The id of the chunk.
    pub node_id: String,
    /// Its position among the chunks, from 0.
    pub ordinal: u32,
    /// Where it begins in the text, in characters. Not set if its text differs from the document's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<usize>,
    /// Where it ends, in characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<usize>,
    /// The headings above it, joined by ` > `.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heading: Option<String>,
    /// Its page, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page: Option<u32>,
}

#[cfg(test)]
mod tests;

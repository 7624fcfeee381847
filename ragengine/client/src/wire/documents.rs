mod memory;

use ragengine_json::{bounded_list, each_item};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::{IntoParams, ToSchema};

use self::memory::{MAX_UNEXPLAINED_BYTES, Taken};
use super::{MAX_ITEMS, Metadata};

/// A document as it is sent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Document {
    /// Its id, 1 to 512 bytes. One that is there already is replaced. Without one, or with an empty one, the SHA-256 of the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doc_id: Option<String>,
    /// Its text. It must hold more than white space.
    pub text: String,
    /// What is known about it. `title`, `url` and `page` are shown to the language model; `split_type` (`default`,
    /// `markdown`, `code` or `pages`) and `language` say how it is cut.
    #[serde(default, deserialize_with = "super::metadata")]
    #[schema(value_type = Object)]
    pub metadata: Metadata,
    /// Where it comes from: a name that groups documents, so that they can be kept in step. It is not shown to the language model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// What its source calls this state of it, such as an ETag: at most 256 bytes, which mean nothing here. It is listed with the
    /// documents of the source, so that what has not changed need not even be read. When the text and the metadata are the same
    /// already, it is all that is stored, and leaving it out changes nothing; a document that has changed loses it when it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
}

/// Documents, of which together no more is built in memory than their bytes explain.
fn documents<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Document>, D::Error> {
    let (mut documents, mut taken) = (Vec::new(), Taken::default());
    each_item(deserializer, |document: Document| {
        if documents.len() == MAX_ITEMS {
            return Err(D::Error::custom(format_args!("has more than {MAX_ITEMS} items: send them in parts")));
        }
        taken.add(&document);
        if taken.is_too_much() {
            let max_mib = MAX_UNEXPLAINED_BYTES >> 20;
            return Err(D::Error::custom(format_args!(
                "has documents that, with their metadata, take {max_mib} MiB of memory more than one and a half times their bytes: send them in parts"
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

/// A document as it is stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct StoredDocument {
    /// Its id.
    pub doc_id: String,
    /// Its text.
    pub text: String,
    /// What is known about it.
    #[schema(value_type = Object)]
    pub metadata: Metadata,
    /// Where it comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// Documents for an index, which is made when it is not there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AddDocuments {
    /// The index: 1 to 63 letters, digits, `.`, `_` or `-`, a letter or digit at both ends.
    pub index_name: String,
    /// The documents.
    #[serde(deserialize_with = "documents")]
    pub documents: Vec<Document>,
}

/// Documents that replace those of the same id.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct UpdateDocuments {
    /// The documents. Each needs its `doc_id`.
    #[serde(deserialize_with = "documents")]
    pub documents: Vec<Document>,
}

/// What became of documents that were to be updated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct UpdatedDocuments {
    /// Those that were changed.
    pub updated_documents: Vec<StoredDocument>,
    /// Those that were the same already.
    pub unchanged_documents: Vec<StoredDocument>,
    /// Those whose id is not in the index. They were not added.
    pub not_found_documents: Vec<StoredDocument>,
}

/// Documents to delete.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DeleteDocuments {
    /// Their ids.
    #[serde(deserialize_with = "ids")]
    pub doc_ids: Vec<String>,
}

/// What became of documents that were to be deleted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DeletedDocuments {
    /// Ids that were there and are gone.
    pub deleted_doc_ids: Vec<String>,
    /// Ids that were not there.
    pub not_found_doc_ids: Vec<String>,
}

/// Which documents of an index are listed, in the order in which they were added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ListDocuments {
    /// How many at most, 1 to 100.
    #[serde(default = "default_limit")]
    #[param(minimum = 1, maximum = 100, default = 10)]
    pub limit: usize,
    /// How many are skipped.
    #[serde(default)]
    pub offset: usize,
    /// How many characters of a text are shown, at least 1. Those of a page are 4,194,304 at most: see `is_truncated`.
    #[serde(default = "default_max_text_length")]
    #[param(minimum = 1, default = 1000)]
    pub max_text_length: usize,
    /// A JSON object: only documents whose metadata has these values. A list stands for any of its values.
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
    /// How many are in this page.
    pub count: usize,
    /// How many there are in all that match.
    pub total_items: usize,
}

/// A document in a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ListedDocument {
    /// Its id.
    pub doc_id: String,
    /// Its text, or the beginning of it.
    pub text: String,
    /// What is known about it.
    #[schema(value_type = Object)]
    pub metadata: Metadata,
    /// Where it comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Whether the text is only the beginning.
    pub is_truncated: bool,
}

#[cfg(test)]
mod tests;

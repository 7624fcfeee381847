use std::fs;
use std::path::Path;

use serde::de::DeserializeOwned;

use crate::document::{ImportedDocument, imported};
use crate::error::KaitoError;
use crate::stores::{Document, DocumentStore, IndexStore};

const DOCUMENTS: &str = "docstore.json";
pub const INDEXES: &str = "index_store.json";

/// An index that KAITO persisted.
#[derive(Debug)]
pub struct PersistedIndex {
    /// Its name in KAITO.
    pub name: String,
    /// Its documents, in the order of the store. Documents without text are left out.
    pub documents: Vec<ImportedDocument>,
}

impl PersistedIndex {
    /// Reads the folder of a persisted index into memory.
    ///
    /// # Errors
    ///
    /// [`KaitoError`] if a file is missing, damaged, or of another kind.
    pub fn read(folder: &Path) -> Result<Self, KaitoError> {
        let name = only_index(json(folder, INDEXES)?)?;
        let store: DocumentStore = json(folder, DOCUMENTS)?;
        let mut documents = Vec::with_capacity(store.documents.len());
        for (doc_id, document) in store.documents {
            let document: Document = serde_json::from_value(document).map_err(|error| not_a_store(DOCUMENTS, error))?;
            documents.extend(imported(doc_id, document, &store.chunks)?);
        }
        Ok(Self { name, documents })
    }
}

/// The name of the only index of a store.
fn only_index(store: IndexStore) -> Result<String, KaitoError> {
    let count = store.indexes.len();
    let mut names = store.indexes.into_keys();
    match (names.next(), names.next()) {
        (Some(name), None) => Ok(name),
        _ => Err(KaitoError::Indexes(count)),
    }
}

pub fn json<T: DeserializeOwned>(folder: &Path, name: &'static str) -> Result<T, KaitoError> {
    let file = fs::read(folder.join(name)).map_err(|error| KaitoError::Read { file: name, error })?;
    serde_json::from_slice(&file).map_err(|error| not_a_store(name, error))
}

fn not_a_store(file: &'static str, error: serde_json::Error) -> KaitoError {
    KaitoError::Store { file, error }
}

#[cfg(test)]
mod tests;

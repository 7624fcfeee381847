//! Reads the documents of an index that KAITO's RAGEngine persisted with `POST /persist/NAME`.
//!
//! The folder is what llama-index's `StorageContext.persist` writes. `docstore.json` has the chunks ("nodes") and the
//! documents that they come from, and `index_store.json` the name of the index. The FAISS file is not read: its vectors
//! belong to KAITO's chunks, of which the model embedded only as much as it could take.

mod document;
mod error;
mod folder;
mod stores;

pub use document::ImportedDocument;
pub use error::KaitoError;
pub use folder::PersistedIndex;

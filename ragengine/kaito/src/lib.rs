//! Reads the documents of an index that KAITO's RAGEngine persisted with `POST /persist/NAME`.
//!
//! The folder is what llama-index's `StorageContext.persist` writes. `docstore.json` has the chunks ("nodes") and the
//! documents that they come from, `index_store.json` the name of the index, and the FAISS file the vectors of the chunks.

mod document;
mod error;
mod faiss_file;
mod folder;
mod id_map;
mod stores;
mod vectors;

pub use document::{ImportedChunk, ImportedDocument};
pub use error::KaitoError;
pub use folder::PersistedIndex;
pub use vectors::PersistedVectors;

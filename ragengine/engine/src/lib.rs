//! Indexes, wherever they are kept: with FAISS in the server ([`ragengine_index`]), or in an external vector engine
//! ([`ragengine_vector_database`]), which several servers may share.
//!
//! With an external engine the server keeps nothing of an index. The documents, chunks and vectors are in the engine;
//! which indexes there are, how often each was changed, and the records of sources are in PostgreSQL
//! ([`ragengine_stores::IndexCatalogue`]). Both kinds have the same operations here. What only one of them can do is an
//! error that says so, or reached by [`Catalog::local`].

mod candidates;
mod catalog;
mod external;
mod index;

pub use candidates::Candidates;
pub use catalog::{Catalog, Making};
pub use external::{ExternalCatalog, ExternalOptions};
pub use index::{ChunkAt, Index};

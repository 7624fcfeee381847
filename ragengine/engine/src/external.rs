//! Indexes in the vector database, with their catalogue in PostgreSQL.

mod catalog;
mod chunks;
mod cursors;
mod evidence;
mod fault;
mod index;
mod listing;
mod opening;
mod search;
mod sources;
mod transfer;
mod watch;
mod words;
mod writing;

pub use catalog::{ExternalCatalog, ExternalOptions};
pub use chunks::FoundChunks;
pub use index::ExternalIndex;

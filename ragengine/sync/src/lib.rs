//! Synchronises an index with its sources: sends new and changed documents, and deletes documents that were removed.
//! Other documents are not changed.
//!
//! The only state between two synchronisations is on the server, which stores the revision of the file with each
//! document. So the next synchronisation completes one that was interrupted.

mod confirmation;
mod deletion;
mod document;
mod driver;
mod error;
mod identity;
mod indexed_files;
mod outbox;
mod progress;
mod record;
mod removed;
mod revision;
mod server;
mod source;

pub use driver::{Report, SyncOutcome, Tools, synchronise};
pub use error::SyncError;
pub use removed::Removed;

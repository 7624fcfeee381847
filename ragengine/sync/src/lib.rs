//! Makes an index of a server hold exactly what its sources hold: what is new or has changed is sent, what has left is deleted, and nothing else is
//! touched.
//!
//! Nothing is remembered between two synchronisations but what the server keeps: beside each document the revision of its file. So one that is
//! cut at any instant is finished by the next.

mod account;
mod confirmation;
mod document;
mod driver;
mod error;
mod identity;
mod known;
mod leaving;
mod outbox;
mod record;
mod removed;
mod revision;
mod server;
mod source;

pub use driver::{Outcome, Report, Tools, synchronise};
pub use error::SyncError;
pub use removed::Removed;

//! The program's commands.

pub mod backup;
mod connect;
pub mod eval;
pub mod import;
pub mod ingest;
pub mod migrate;
pub mod print;
pub mod restore;
mod sending;
pub mod serve;
pub mod settings;
pub mod sync;

//! The program's commands.

pub mod ingest;
pub mod print;
pub mod serve;
pub mod settings;
pub mod sync;

//! Archives of indexes: the file or stream that `persist` and `backup` write and that `load` and `restore` read.
//!
//! An archive is a tar file. `ragengine.json` comes first and lists the indexes. Each index follows as
//! `indexes/NAME/index.json` and blocks of rows, `indexes/NAME/00000001` and on. `end.json` comes last, with a checksum
//! over everything before it; an archive without it is incomplete, and all of it is rejected. A row is a document or a
//! chunk, not a page of the store. Derived data (graphs, token counts, the tables that find a document by its id) is
//! rebuilt when an archive is read, so the format depends only on the layout of the rows.

mod check;
mod entry;
mod error;
mod manifest;
mod read;
mod row;
mod write;

pub use error::ArchiveError;
pub use manifest::{IndexHeader, Manifest};
pub use read::{Piece, read};
pub use row::Row;
pub use write::ArchiveWriter;

/// The format that this version writes. Newer formats are rejected.
const FORMAT: u32 = 1;

/// The size at which a block of rows is closed, in bytes.
const BLOCK_BYTES: usize = 1 << 20;

/// The longest block that is read, in bytes, unless longer documents are allowed: a document's text is never split.
pub const MAX_BLOCK_BYTES: u64 = 64 << 20;

#[cfg(test)]
pub(super) mod tests;

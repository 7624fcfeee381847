//! Indexes in one file or stream, to keep or to move: what `persist` and `backup` write, and `load` and `restore` read.
//!
//! It is a tar file. First comes `ragengine.json`, which says which indexes follow; then of each index `indexes/NAME/index.json` and blocks of
//! rows, `indexes/NAME/00000001` and on; last `end.json` with a checksum over all before it. Without that end it is not whole, and nothing of
//! it is used. A row is a document or a chunk as users know them, and not a page of the store: what is derived (graphs, token counts, the
//! tables that find a document by its id) is made anew when it is read, and an archive depends on nothing but the rows' own layout.

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

/// The layout of archives. One of a newer layout is refused.
const FORMAT: u32 = 1;

/// A block is closed when it has so many bytes.
const BLOCK_BYTES: usize = 1 << 20;

/// The longest block that is read unless documents may be longer: a document's text is never split.
pub const MAX_BLOCK_BYTES: u64 = 64 << 20;

#[cfg(test)]
pub(super) mod tests;

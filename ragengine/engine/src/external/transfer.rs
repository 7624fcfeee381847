//! Copies of external indexes, in the same archives as those of local ones. So an index can be moved from one engine to
//! another without embedding its texts again.

mod export;
mod import;
mod spool;

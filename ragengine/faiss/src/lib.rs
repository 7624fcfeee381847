//! FAISS behind a safe interface: vector indexes over row positions, with filters, for the squared L2 distance.
//!
//! A row's position (0 for the first one added) is its only id. Rows are never removed. Callers map positions to their
//! own ids, delete by clearing a bit in the [`PositionSet`] that they pass to every search, and rebuild the index when
//! too many bits are clear.
//!
//! - [`VectorIndex`]: build, search, write to a file and read from it.
//! - [`Kind`]: the kinds of indexes, and their properties.
//! - [`PositionSet`]: the rows that a search may return.
//! - [`check_cpu`] and [`use_one_thread_per_call`]: to be called at the program's start and in each thread that
//!   searches.
//!
//! This is the project's only crate with unsafe code, and `ffi.rs` its only module with any. FAISS: Douze et al., "The
//! Faiss library", <https://arxiv.org/abs/2401.08281>.

mod cpu;
mod error;
mod ffi;
mod kind;
mod nearest;
mod position_set;
mod rows;
mod seal;
mod strategy;
#[cfg(test)]
mod test_vectors;
mod vector_index;

pub use cpu::{UnsupportedCpu, check_cpu};
pub use error::Error;
pub use ffi::use_one_thread_per_call;
pub use kind::{Kind, ParseKindError};
pub use nearest::Neighbor;
pub use position_set::PositionSet;
pub use vector_index::{MAX_DIMENSIONS, SearchOptions, VectorIndex};

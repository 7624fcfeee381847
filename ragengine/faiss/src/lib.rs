//! FAISS behind a safe interface: vector indexes over row positions, with filters, for the squared L2 distance.
//!
//! A row's position (0 for the first one added) is its only id; rows are never removed. A caller keeps its own ids,
//! deletes by clearing a bit in a [`PositionSet`] that it gives to every search, and rebuilds when too many bits are clear.
//!
//! - [`VectorIndex`]: build, search, write to a file and read from it.
//! - [`Kind`]: which index, and what it promises.
//! - [`PositionSet`]: which rows a search may return.
//! - [`check_cpu`] and [`use_one_thread_per_call`]: for the program's start and for each thread that searches.
//!
//! This is the project's only crate with unsafe code, and `ffi.rs` its only module with any.
//! FAISS: Douze et al., "The Faiss library", <https://arxiv.org/abs/2401.08281>.

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

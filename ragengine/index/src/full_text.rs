//! The full text of an index, for searches by words.
//!
//! It is derived from the store, like the vectors: a write only notes which rows are new, and the first search after it
//! analyses them, or a background thread when there are many. Segments are immutable. New ones are in memory; when they
//! are a quarter of the index, everything is merged into files, which the next start reads.

mod analyse;
mod analysis;
mod files;
mod merge;
mod scores;
mod search;
mod segment;
mod set;
#[cfg(test)]
mod tests;
mod words;

use parking_lot::Mutex;
use ragengine_settings::TextLanguage;
use tantivy::TantivyError;

use crate::IndexError;
use crate::snapshot::SnapshotError;
use crate::store::StoreError;

pub use analyse::NamedText;
pub use analysis::{Analyzer, QueryWord, TextKind};
pub use search::{KnownWords, MAX_TERMS, TextHit, TextHits, idf};
pub use set::TextSet;

/// Why chunks cannot be searched by their words.
#[derive(Debug, thiserror::Error)]
pub enum FullTextError {
    /// Many chunks are not analysed yet.
    #[error("the full text is being made: {pending} chunks are left")]
    NotReady {
        /// The chunks that are not analysed yet.
        pending: u64,
    },
    /// tantivy failed.
    #[error("the full text failed: {0}")]
    Engine(#[from] TantivyError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The files could not be written.
    #[error("the full text could not be saved: {0}")]
    Files(#[from] SnapshotError),
    /// The index is gone, or the server is shutting down.
    #[error(transparent)]
    Stopped(Box<IndexError>),
}

impl FullTextError {
    /// The error's kind, for metrics and logs.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::NotReady { .. } => "not_ready",
            Self::Engine(_) => "full_text",
            Self::Store(error) => error.kind(),
            Self::Files(error) => error.kind(),
            Self::Stopped(error) => error.kind(),
        }
    }
}

/// What an index needs to make its full text.
pub struct FullText {
    analyzer: Analyzer,
    /// Held by the thread that analyses chunks or merges segments in memory, so that none is analysed twice.
    turn: Mutex<()>,
}

impl FullText {
    /// Full text in a language.
    pub fn new(language: TextLanguage) -> Self {
        Self { analyzer: Analyzer::new(language), turn: Mutex::new(()) }
    }
}

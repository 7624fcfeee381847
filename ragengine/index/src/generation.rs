//! Generations of an index. One serves; when another embedding model, chunking or vector index is wanted, the next is built beside
//! it and takes its place when it holds the same documents.

mod building;
mod hand_over;
mod wanted;

pub use building::Building;
pub(crate) use hand_over::HoldBack;
use ragengine_client::wire::{GenerationPhase, NextGeneration};
use serde::{Deserialize, Serialize};
pub use wanted::{Asked, Decision, Model, again, asked, decide};

use super::record::IndexRecord;

/// What is to take the place of the serving generation. The catalog keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    /// How it is made.
    pub target: IndexRecord,
    /// What becomes of it.
    pub phase: Phase,
    /// When it was begun (RFC 3339).
    pub started_at: String,
}

/// What becomes of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Phase {
    /// It is being built in the folder of this number.
    Building {
        /// The number.
        folder: u64,
    },
    /// It is not built, so that a start does not begin it again.
    Abandoned,
}

impl Plan {
    /// The number of the folder in which it is being built.
    pub fn folder(&self) -> Option<u64> {
        match self.phase {
            Phase::Building { folder } => Some(folder),
            Phase::Abandoned => None,
        }
    }

    /// As the API describes it.
    pub fn describe(&self, progress: Progress) -> NextGeneration {
        NextGeneration {
            phase: match self.phase {
                Phase::Building { .. } => GenerationPhase::Building,
                Phase::Abandoned => GenerationPhase::Abandoned,
            },
            fingerprint: self.target.fingerprint(),
            model: self.target.model.clone(),
            settings: self.target.settings(),
            documents: progress.documents,
            total: progress.total,
            started_at: self.started_at.clone(),
            error: progress.error,
        }
    }
}

/// How far a generation is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Progress {
    /// The documents that it has and that need no more work.
    pub documents: u64,
    /// The documents that it is to have, as far as is known.
    pub total: u64,
    /// Why it does not get on.
    pub error: Option<String>,
}

#[cfg(test)]
mod tests;

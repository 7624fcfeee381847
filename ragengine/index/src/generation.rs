//! Generations of an index. One serves. When another embedding model, chunking or vector index is requested, the next
//! generation is built beside it and takes over when it holds the same documents.

mod building;
mod decision;
mod hand_over;

pub use building::Building;
pub use decision::{Decision, Model, RequestedSettings, decide_at_start, decide_on_request, decide_on_resume};
pub(crate) use hand_over::HoldBack;
use ragengine_client::wire::{GenerationPhase, NextGeneration};
use serde::{Deserialize, Serialize};

use super::record::IndexRecord;

/// The plan for the next generation, as the catalog stores it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    /// The settings of the next generation.
    pub target: IndexRecord,
    /// Whether it is being built.
    pub phase: Phase,
    /// When the plan was made (RFC 3339).
    pub started_at: String,
}

/// The phase of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Phase {
    /// It is being built in the folder of this number.
    Building {
        /// The number of the folder.
        folder: u64,
    },
    /// The user abandoned it. The plan stays, so that a restart does not build it again.
    Abandoned,
}

impl Plan {
    /// The number of the folder in which it is being built, if it is.
    pub fn folder(&self) -> Option<u64> {
        match self.phase {
            Phase::Building { folder } => Some(folder),
            Phase::Abandoned => None,
        }
    }

    /// Describes the plan for the API.
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

/// The progress of building a generation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Progress {
    /// Documents that are finished.
    pub documents: u64,
    /// All documents, as far as known.
    pub total: u64,
    /// The error that stopped the last attempt.
    pub error: Option<String>,
}

#[cfg(test)]
mod tests;

//! Why a RAGEngine is left as it is, for now.

use ragengine_operator_api::{PAUSED_ANNOTATION, RagEngine, Reason, is_paused};

use super::status::Finding;

/// Why nothing of an engine is made, changed or deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    /// Its annotation says so.
    Paused,
}

impl Hold {
    /// What the resource itself asks for.
    pub fn asked_for(engine: &RagEngine) -> Option<Self> {
        is_paused(&engine.metadata).then_some(Self::Paused)
    }

    /// In the words of the condition Progressing.
    pub fn finding(self) -> Finding {
        match self {
            Self::Paused => Finding::new(
                Reason::Paused,
                format!(
                    "nothing is made, changed or deleted while the annotation {PAUSED_ANNOTATION} is true: remove it, and the engine becomes what its specification asks for"
                ),
            ),
        }
    }
}

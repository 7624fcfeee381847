use ragengine_pipeline::request::HistoryFormat;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The conversations of `/query`. A session belongs to its caller.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Sessions {
    /// Where conversations are kept: `memory` (in this process: a restart loses them, and of more than 10,000 the least
    /// recently used go), `redis` or `postgres`.
    pub store: SessionStore,
    /// Time without use after which a conversation is deleted.
    pub expiry_seconds: u64,
    /// The share of the context window that earlier messages may use, 0 to 0.8. The newest are used.
    pub history_ratio: f64,
    /// The form of the history in the prompt: as `messages`, or as a `section` of the system message.
    pub history_format: HistoryFormat,
    /// What happens to a question if the store cannot be used: it is answered without the history (`answer`), or gets a
    /// 503 (`refuse`).
    pub when_down: WhenDown,
}

impl Default for Sessions {
    fn default() -> Self {
        Self {
            store: SessionStore::Memory,
            expiry_seconds: 86_400,
            history_ratio: 0.5,
            history_format: HistoryFormat::Messages,
            when_down: WhenDown::Answer,
        }
    }
}

/// Where conversations are kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SessionStore {
    /// In this process.
    #[default]
    Memory,
    /// In the Redis of `redis`.
    Redis,
    /// In the database of `postgres`.
    Postgres,
}

/// What happens to a question if its conversation cannot be read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum WhenDown {
    /// It is answered without the history.
    #[default]
    Answer,
    /// It gets a 503.
    Refuse,
}

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::descriptions::keep_descriptions;

/// Conversations of `/query`. A session belongs to its caller.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(transform = keep_descriptions)]
pub struct Sessions {
    /// Where conversations are kept: `memory` (in the server: a restart loses them, and of more than 10,000 the least
    /// recently used go), `redis` (the server of `redis`) or `postgres` (the database of `postgres`). Default:
    /// `memory`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub store: Option<SessionStore>,
    /// Time without use after which a conversation is deleted, in seconds. Default: 86400, a day.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 60, max = 31_622_400))]
    pub expiry_seconds: Option<u32>,
    /// Share of the context window that earlier messages may fill, from 0 to 0.8. The newest are used. Default: 0.5.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 0.8))]
    pub history_ratio: Option<f64>,
    /// Form of the history in the prompt: as `messages`, or as a `section` of the system message. Default: `messages`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub history_format: Option<HistoryFormat>,
    /// What happens to a question if the store cannot be used: it is answered without the history (`answer`), or gets a
    /// 503 (`refuse`). Default: `answer`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when_down: Option<WhenDown>,
}

/// Where conversations are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SessionStore {
    /// In the server.
    Memory,
    /// In the server of `redis`.
    Redis,
    /// In the database of `postgres`.
    Postgres,
}

/// Form of the history in the prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum HistoryFormat {
    /// Each message is one.
    Messages,
    /// A section of the system message.
    Section,
}

/// What happens to a question if its conversation cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum WhenDown {
    /// It is answered without the history.
    Answer,
    /// It gets a 503.
    Refuse,
}

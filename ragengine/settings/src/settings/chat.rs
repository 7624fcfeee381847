use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How chats are answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Chat {
    /// Whether a request may set `explain: true`. The reply then explains the decision about every chunk with ids,
    /// distances and token counts, without texts.
    pub explain: bool,
    /// A stream without events for so many seconds gets a comment, so that proxies keep the connection open. If the
    /// language model has not answered by then, the stream begins anyway; a later error becomes its last event.
    pub keep_alive_seconds: u64,
}

impl Default for Chat {
    fn default() -> Self {
        Self { explain: true, keep_alive_seconds: 15 }
    }
}

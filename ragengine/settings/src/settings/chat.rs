use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How chats are answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Chat {
    /// Whether a request may ask with `explain: true` what was decided about every chunk, and why. The reply then shows ids, distances and tokens, never texts.
    pub explain: bool,
    /// After so many seconds without an event a stream gets a comment, so that nothing in between takes it for dead. A stream whose language model has not begun by then begins without it; an error is then its last event.
    pub keep_alive_seconds: u64,
}

impl Default for Chat {
    fn default() -> Self {
        Self { explain: true, keep_alive_seconds: 15 }
    }
}

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The server's log, on standard error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Log {
    /// The log level, `error`, `warn`, `info`, `debug` or `trace`, or directives such as `info,ragengine::chat=debug`.
    pub level: String,
    /// The format of a log line.
    pub format: LogFormat,
    /// Whether log lines may quote requests and replies: descriptions of invalid requests, requested names, and
    /// messages of the language model and the embedding endpoint. If `false`, they contain only kinds, statuses,
    /// lengths and positions.
    pub texts: bool,
}

impl Default for Log {
    fn default() -> Self {
        Self { level: "info".to_owned(), format: LogFormat::Auto, texts: false }
    }
}

/// The format of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum LogFormat {
    /// Text on a terminal, JSON elsewhere.
    Auto,
    /// One JSON object per line.
    Json,
    /// Human-readable text.
    Text,
}

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The server's log, on standard error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Log {
    /// What is logged: `error`, `warn`, `info`, `debug` or `trace`, or directives such as `info,ragengine::chat=debug`.
    pub level: String,
    /// How a line looks.
    pub format: LogFormat,
    /// Whether lines may quote what callers sent and what endpoints answered: what is wrong with a request in words, the names that it asks for, the messages of the language model and the embedding endpoint. When they may not, they have kinds, statuses, lengths and places instead.
    pub texts: bool,
}

impl Default for Log {
    fn default() -> Self {
        Self { level: "info".to_owned(), format: LogFormat::Auto, texts: false }
    }
}

/// How a log line looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum LogFormat {
    /// Readable on a terminal, JSON elsewhere.
    Auto,
    /// One JSON object a line.
    Json,
    /// Readable.
    Text,
}

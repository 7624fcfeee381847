use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::SecretReference;

/// An OpenAI-compatible chat endpoint: OpenAI, vLLM, Ollama, llama.cpp, OpenRouter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct InferenceService {
    /// The endpoint's address. An address ending in `/chat/completions` is used unchanged. `/chat/completions` is
    /// appended to one ending in `/v1`, and `/v1/chat/completions` to a bare host. In one ending in `/completions`,
    /// that is replaced with `/chat/completions`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The model for requests that name none. Default: the first model that the endpoint lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The models that clients may request, in addition to `model`. A request for another model gets a 400 that lists
    /// them, and `/v1/models` hides other models. Empty: every model. If `model` is not set, requests that name no
    /// model get the first of these that the endpoint lists.
    pub models: Vec<String>,
    /// The API key, sent as a bearer token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_key: Option<SecretReference>,
    /// The model's context window in tokens. Default: the value that the endpoint reports, or 4,096 if it reports none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_window_size: Option<u32>,
    /// A folder with the model's `tokenizer.json` and, for its chat template, `tokenizer_config.json` or
    /// `chat_template.jinja`, as found in its repository on the hub. Prompts are then counted exactly. Default: prompts
    /// for OpenAI's models are counted with their encodings, and all others are estimated at three bytes per token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokenizer: Option<PathBuf>,
    /// Timeout of an answer, in seconds. For a stream it limits the time between two pieces.
    pub timeout_seconds: u64,
    /// Timeout of connecting, in seconds.
    pub connect_timeout_seconds: u64,
    /// Maximum number of concurrent requests to the endpoint, streams included. Further chats wait.
    pub max_concurrent_requests: u32,
    /// Maximum number of waiting chats. Further chats get a 429 with `Retry-After`.
    pub max_waiting_requests: u32,
    /// Maximum time that a chat waits, in seconds. After that it gets a 429 with `Retry-After`.
    pub queue_timeout_seconds: u64,
    /// Maximum number of idle connections kept open for reuse.
    pub max_idle_connections: u32,
    /// How long an idle connection is kept open, in seconds. Must be shorter than the endpoint's own limit.
    pub idle_timeout_seconds: u64,
    /// Maximum size of an answer that is not a stream, in bytes.
    pub max_reply_bytes: u64,
    /// Interval between health checks of the endpoint, which request its list of models, in seconds. 0: never.
    pub probe_seconds: u64,
}

impl Default for InferenceService {
    fn default() -> Self {
        Self {
            url: None,
            model: None,
            models: Vec::new(),
            api_key: None,
            context_window_size: None,
            timeout_seconds: 300,
            connect_timeout_seconds: 10,
            tokenizer: None,
            max_concurrent_requests: 1024,
            max_waiting_requests: 1024,
            queue_timeout_seconds: 60,
            max_idle_connections: 256,
            idle_timeout_seconds: 30,
            max_reply_bytes: 64 << 20,
            probe_seconds: 30,
        }
    }
}

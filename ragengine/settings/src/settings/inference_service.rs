use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::SecretReference;

/// An OpenAI-compatible chat endpoint: OpenAI, vLLM, Ollama, llama.cpp, OpenRouter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct InferenceService {
    /// Its address. One that ends in `/chat/completions` is used as it is, to one that ends in `/v1` the rest is added, and to a bare host `/v1/chat/completions`; one that ends in `/completions` means the `/chat/completions` beside it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The model for requests that name none. Not set: the first that the endpoint lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The models that callers may ask for, besides `model`; any other is a 400 that lists them, and `/v1/models` shows no other. Empty: any. Without `model`, requests that name none get the first of these that the endpoint lists.
    pub models: Vec<String>,
    /// The key that is sent as a bearer token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_key: Option<SecretReference>,
    /// The model's context window in tokens. Not set: read from the endpoint, and 4,096 where it does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_window_size: Option<u32>,
    /// A folder with the model's `tokenizer.json` and, for its chat template, `tokenizer_config.json` or `chat_template.jinja`, as they are in its repository on the hub: prompts are then counted exactly. Not set: OpenAI's models are counted with their own encodings, all others are estimated at three bytes a token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokenizer: Option<PathBuf>,
    /// How long an answer may take, in seconds: the whole of it, or the time between two pieces of a stream.
    pub timeout_seconds: u64,
    /// How long connecting may take, in seconds.
    pub connect_timeout_seconds: u64,
    /// Chats that the endpoint is asked at a time, streams included; more of them wait.
    pub max_concurrent_requests: u32,
    /// How many more chats may wait for their turn; one more is a 429 with `Retry-After`.
    pub max_waiting_requests: u32,
    /// How long a chat may wait for its turn, in seconds; it is a 429 with `Retry-After` then.
    pub queue_timeout_seconds: u64,
    /// Connections that are kept open for reuse.
    pub max_idle_connections: u32,
    /// How long a connection is kept open without use, in seconds. Shorter than the endpoint's own limit.
    pub idle_timeout_seconds: u64,
    /// The largest answer that is not a stream, in bytes.
    pub max_reply_bytes: u64,
    /// How often the endpoint is asked whether it is there, by its list of models, in seconds. 0: never.
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

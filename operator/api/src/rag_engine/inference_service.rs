use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::rules::{OBJECT_NAME, http_url};

/// An OpenAI-compatible chat endpoint: vLLM, Ollama, llama.cpp, OpenAI, OpenRouter.
#[derive(KubeSchema, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InferenceService {
    /// Its address. One that ends in `/chat/completions` is used as it is, to one that ends in `/v1` the rest is added, and to a bare host `/v1/chat/completions`; one that ends in `/completions` means the `/chat/completions` beside it. Not set: the built-in model `extractive` answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2048))]
    #[x_kube(validation = http_url("inferenceService.url", "http://vllm.models.svc/v1"))]
    pub url: Option<String>,
    /// The model for requests that name none. Not set: the first that the endpoint lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 256))]
    pub model: Option<String>,
    /// The models that callers may ask for, besides `model`; any other is a 400 that lists them, and `/v1/models` shows no other. Empty: any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 256), inner(length(min = 1, max = 256)))]
    pub models: Vec<String>,
    /// The name of a Secret whose key `LLM_ACCESS_SECRET` is sent as a bearer token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253), regex(pattern = OBJECT_NAME))]
    pub access_secret: Option<String>,
    /// The model's context window in tokens. Not set: read from the endpoint, and 4,096 where it does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100_000_000))]
    pub context_window_size: Option<u32>,
    /// A folder with the model's `tokenizer.json` and chat template, on a volume that `podTemplate` mounts: prompts are then counted exactly. Not set: OpenAI's models are counted with their own encodings, all others are estimated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024), regex(pattern = r"^/.+$"))]
    pub tokenizer: Option<String>,
    /// How long an answer may take, in seconds: the whole of it, or the time between two pieces of a stream.
    #[serde(default = "default_timeout_seconds")]
    #[schemars(range(min = 1, max = 86400))]
    pub timeout_seconds: u32,
    /// Chats that the endpoint is asked at a time, streams included; more of them wait. Not set: 1024.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub max_concurrent_requests: Option<u32>,
    /// How many more chats may wait for their turn; one more is a 429. Not set: 1024.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1_000_000))]
    pub max_waiting_requests: Option<u32>,
}

impl Default for InferenceService {
    fn default() -> Self {
        Self {
            url: None,
            model: None,
            models: Vec::new(),
            access_secret: None,
            context_window_size: None,
            tokenizer: None,
            timeout_seconds: default_timeout_seconds(),
            max_concurrent_requests: None,
            max_waiting_requests: None,
        }
    }
}

fn default_timeout_seconds() -> u32 {
    300
}

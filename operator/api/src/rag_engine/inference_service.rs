use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::rules::{OBJECT_NAME, http_url};

/// An OpenAI-compatible chat endpoint, such as vLLM, Ollama, llama.cpp, OpenAI or OpenRouter.
#[derive(KubeSchema, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InferenceService {
    /// URL of the endpoint. `/chat/completions` is appended to a URL that ends in `/v1`, and `/v1/chat/completions` to
    /// a bare host; a final `/completions` is replaced with `/chat/completions`. Default: the built-in model
    /// `extractive`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2048))]
    #[x_kube(validation = http_url("inferenceService.url", "http://vllm.models.svc/v1"))]
    pub url: Option<String>,
    /// Model for requests that do not name one. Default: the first model that the endpoint lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 256))]
    pub model: Option<String>,
    /// Models that clients may request in addition to `model`. Other models are rejected with 400 and are not listed in
    /// `/v1/models`. Default: any model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 256), inner(length(min = 1, max = 256)))]
    pub models: Vec<String>,
    /// Name of a Secret whose key `LLM_ACCESS_SECRET` is sent as a bearer token. Default: no token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253), regex(pattern = OBJECT_NAME))]
    pub access_secret: Option<String>,
    /// Size of the model's context window, in tokens. Default: the size that the endpoint reports, otherwise 4096.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100_000_000))]
    pub context_window_size: Option<u32>,
    /// Path of a folder with the model's `tokenizer.json` and chat template, on a volume that `podTemplate` mounts, for
    /// exact token counts. Default: exact counts for OpenAI's models, estimates for all others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024), regex(pattern = r"^/.+$"))]
    pub tokenizer: Option<String>,
    /// Timeout of a whole answer, or between two pieces of a streamed answer, in seconds. Default: 300.
    #[serde(default = "default_timeout_seconds")]
    #[schemars(range(min = 1, max = 86400))]
    pub timeout_seconds: u32,
    /// Maximum number of concurrent requests to the endpoint, including streams. Further requests wait. Default: 1024.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub max_concurrent_requests: Option<u32>,
    /// Maximum number of waiting requests. Further requests are rejected with 429. Default: 1024.
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

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::SecretReference;

/// How the best chunks are put in order by a model. See `endpoints` for where they are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Rerank {
    /// The kind of the model: the language model (`llm`), a reranker at `url` (`endpoint`), or a cross-encoder that this
    /// server runs (`local`).
    pub backend: RerankBackend,
    /// The whole address of a reranker, such as `http://reranker:8080/rerank`: Cohere, Jina, vLLM, llama.cpp or Text
    /// Embeddings Inference (TEI). Only used with `backend: endpoint`. Redirects are not followed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The name of the model. For `backend: llm`, it must be in `inferenceService.models`, unless that is empty, and the
    /// default is the model of the answer. For `backend: endpoint`, the default is the one that the reranker serves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The API key of the reranker at `url`, sent as a bearer token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_key: Option<SecretReference>,
    /// The cross-encoder that this server runs. Only used with `backend: local`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub local: Option<LocalReranker>,
    /// With `conditional`, chunks are put in order if the best score minus the third is at most this, 0 to 1.
    pub score_spread: f32,
    /// With `conditional`, also if the question has one of these words or phrases about time. At most 100.
    pub temporal_words: Vec<String>,
    /// With `conditional`, also if the question has one of these words or phrases that compare. At most 100.
    pub comparison_words: Vec<String>,
}

/// What puts chunks in order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum RerankBackend {
    /// The language model.
    #[default]
    Llm,
    /// A reranker at an address.
    Endpoint,
    /// A cross-encoder in this process.
    Local,
}

/// A cross-encoder, exported as ONNX, with its tokenizer.json. It runs on the CPU.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct LocalReranker {
    /// The model's name on the hub (`organisation/name`), or the path of a folder with its files (absolute, or
    /// beginning with `./`). A model of the hub is downloaded into `dataDir/models` unless it is there.
    #[serde(rename = "modelID")]
    pub model_id: String,
    /// The revision to download: a commit, which pins the model, a tag or a branch.
    pub revision: String,
    /// The address that models are downloaded from.
    pub hub_url: String,
    /// The hub's access token, for models that need one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hub_token: Option<SecretReference>,
    /// Maximum size of a question with a chunk, in tokens. The end of a longer chunk is not read. Default: the model's
    /// own limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
}

impl Default for LocalReranker {
    fn default() -> Self {
        Self {
            model_id: "cross-encoder/ms-marco-MiniLM-L6-v2".to_owned(),
            revision: "main".to_owned(),
            hub_url: "https://huggingface.co".to_owned(),
            hub_token: None,
            max_tokens: None,
        }
    }
}

impl Default for Rerank {
    fn default() -> Self {
        let words = |words: &[&str]| words.iter().map(ToString::to_string).collect();
        Self {
            backend: RerankBackend::Llm,
            url: None,
            model: None,
            api_key: None,
            local: None,
            score_spread: 0.05,
            temporal_words: words(&["latest", "current"]),
            comparison_words: words(&["difference between", "versus"]),
        }
    }
}

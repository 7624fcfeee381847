mod local;

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use local::LocalReranker;

use crate::rules::{OBJECT_NAME, http_url};

/// How a model puts the best chunks in order. The fields `rerank` of `endpoints` say when it does.
#[derive(KubeSchema, Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("!has(self.backend) || self.backend != 'endpoint' || has(self.url)").message(
        "rerank.backend: endpoint needs rerank.url: write the reranker's address, such as \
         http://reranker.models.svc/rerank, or backend: llm"
    ),
    validation = Rule::new("!has(self.url) || (has(self.backend) && self.backend == 'endpoint')")
        .message("rerank.url is only used with rerank.backend: endpoint: write that, or remove url"),
    validation = Rule::new("!has(self.accessSecret) || (has(self.backend) && self.backend == 'endpoint')")
        .message("rerank.accessSecret is only used with rerank.backend: endpoint: write that, or remove accessSecret"),
    validation = Rule::new("!has(self.backend) || self.backend != 'local' || has(self.local)").message(
        "rerank.backend: local needs rerank.local: write local: {} for the default model, or another modelID in it"
    ),
    validation = Rule::new("!has(self.local) || (has(self.backend) && self.backend == 'local')")
        .message("rerank.local is only used with rerank.backend: local: write that, or remove local"),
    validation = Rule::new("!has(self.model) || !has(self.backend) || self.backend != 'local'").message(
        "rerank.model is not used with rerank.backend: local: write the model into rerank.local.modelID"
    ),
)]
pub struct Rerank {
    /// Kind of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend: Option<RerankBackend>,
    /// Complete URL of a reranker: Cohere, Jina, vLLM, llama.cpp or Text Embeddings Inference. Required with
    /// `backend: endpoint`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2048))]
    #[x_kube(validation = http_url("rerank.url", "http://reranker.models.svc/rerank"))]
    pub url: Option<String>,
    /// Name of the model. Default: for `llm` the model of the answer, for `endpoint` the one that the reranker serves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 256))]
    pub model: Option<String>,
    /// Name of a Secret whose key `RERANK_ACCESS_SECRET` is sent to the reranker as a bearer token. Default: no token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253), regex(pattern = OBJECT_NAME))]
    pub access_secret: Option<String>,
    /// A cross-encoder that runs in the engine, on the CPU. Required with `backend: local`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub local: Option<LocalReranker>,
    /// Maximum difference between the best score and the third for which `conditional` puts chunks in order, from 0 to
    /// 1. Default: 0.05.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub score_spread: Option<f64>,
    /// Words and phrases about time, in any case. `conditional` also puts chunks in order if the question has one.
    /// Default: `[latest, current]`.
    // The server allows 200 bytes for each, and a character has up to 4 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 100), inner(length(min = 1, max = 50), regex(pattern = r"[\p{L}\p{N}]")))]
    pub temporal_words: Option<Vec<String>>,
    /// Words and phrases that compare, in any case. `conditional` also puts chunks in order if the question has one.
    /// Default: `[difference between, versus]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 100), inner(length(min = 1, max = 50), regex(pattern = r"[\p{L}\p{N}]")))]
    pub comparison_words: Option<Vec<String>>,
}

/// Kind of the model: the language model (`llm`), a reranker at `url` (`endpoint`), or a cross-encoder that runs in the
/// engine (`local`). Default: `llm`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum RerankBackend {
    /// The language model.
    Llm,
    /// A reranker at a URL.
    Endpoint,
    /// A cross-encoder that runs in the engine.
    Local,
}

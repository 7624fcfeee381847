use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::SecretReference;

/// `local` or `remote`, not both. With neither, the local model all-MiniLM-L6-v2.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Embedding {
    /// A sentence-transformer that this server runs itself, on the CPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub local: Option<LocalEmbedding>,
    /// An OpenAI-compatible `/v1/embeddings` endpoint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remote: Option<RemoteEmbedding>,
}

/// The embedding model that the settings come down to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum EmbeddingSource {
    /// A model that this server runs itself.
    Local(LocalEmbedding),
    /// An endpoint.
    Remote(RemoteEmbedding),
}

impl Embedding {
    /// The one that is meant. `remote` wins here; [`crate::validate`] refuses settings that have both.
    pub fn source(&self) -> EmbeddingSource {
        match (&self.remote, &self.local) {
            (Some(remote), _) => EmbeddingSource::Remote(remote.clone()),
            (None, Some(local)) => EmbeddingSource::Local(local.clone()),
            (None, None) => EmbeddingSource::Local(LocalEmbedding::default()),
        }
    }
}

/// A sentence-transformer exported as ONNX with its tokenizer.json.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct LocalEmbedding {
    /// The model's name on the hub (`organisation/name`), looked for in `dataDir/models` and else fetched into it (the hashes of what was fetched are kept there, and compared at each start); or the path of a folder with its files (absolute, or beginning with `./`).
    #[serde(rename = "modelID")]
    pub model_id: String,
    /// The revision that is fetched: a commit, which pins the model, a tag or a branch. What is there of another revision is not taken for it.
    pub revision: String,
    /// Where models are fetched from.
    pub hub_url: String,
    /// The hub's access token, for models that need one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hub_token: Option<SecretReference>,
    /// Threads that embed queries, and as many that embed documents. 0: one for each core.
    pub threads: u32,
    /// The longest text in tokens, instead of the model's own limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// How the vectors of a text's tokens become one, instead of what the model's files say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pooling: Option<Pooling>,
    /// Text put before every query, instead of what the model's files or its family ask for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query_prefix: Option<String>,
    /// Text put before every chunk, instead of what the model's files or its family ask for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passage_prefix: Option<String>,
    /// Queries that may wait for a thread; one more is a 429.
    pub queue: u32,
}

impl Default for LocalEmbedding {
    fn default() -> Self {
        Self {
            model_id: "sentence-transformers/all-MiniLM-L6-v2".to_owned(),
            revision: "main".to_owned(),
            hub_url: "https://huggingface.co".to_owned(),
            hub_token: None,
            threads: 0,
            max_tokens: None,
            pooling: None,
            query_prefix: None,
            passage_prefix: None,
            queue: 512,
        }
    }
}

/// How the vectors of a text's tokens become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Pooling {
    /// Their mean.
    Mean,
    /// The first token's.
    Cls,
}

/// An OpenAI-compatible `/v1/embeddings` endpoint.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RemoteEmbedding {
    /// Its address: up to `/v1`, or up to `/v1/embeddings`.
    pub url: String,
    /// The model's name there.
    pub model: String,
    /// The key that is sent as a bearer token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_key: Option<SecretReference>,
    /// The width of the vectors to ask for, where the model offers several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dimensions: Option<u32>,
    /// The longest text that it takes, in tokens.
    #[serde(default = "remote_max_tokens")]
    pub max_tokens: u32,
    /// Texts in one request.
    #[serde(default = "remote_batch_size")]
    pub batch_size: u32,
    /// How long one request may take, in seconds.
    #[serde(default = "remote_timeout_seconds")]
    pub timeout_seconds: u64,
    /// Text put before every query.
    #[serde(default)]
    pub query_prefix: String,
    /// Text put before every chunk.
    #[serde(default)]
    pub passage_prefix: String,
}

fn remote_max_tokens() -> u32 {
    8191
}

fn remote_batch_size() -> u32 {
    64
}

fn remote_timeout_seconds() -> u64 {
    60
}

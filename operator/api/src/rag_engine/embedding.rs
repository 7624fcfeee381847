use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rules::{OBJECT_NAME, http_url};

/// Which model turns text into vectors.
#[derive(KubeSchema, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("has(self.local) != has(self.remote)")
    .message("embedding needs exactly one of local and remote: write local: {} for the model that is in the image, or remote with its url and model"))]
pub struct Embedding {
    /// A model that the engine runs itself, on the CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub local: Option<LocalEmbedding>,
    /// An OpenAI-compatible `/v1/embeddings` endpoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote: Option<RemoteEmbedding>,
}

impl Default for Embedding {
    fn default() -> Self {
        Self { local: Some(LocalEmbedding::default()), remote: None }
    }
}

/// A sentence-transformer that has been exported as ONNX.
#[derive(KubeSchema, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LocalEmbedding {
    /// The model's name on the hub, `organisation/name`; or the path of a folder with its files, on a volume that `podTemplate` mounts. The default is in the image; any other is fetched when the engine first starts, and kept on its volume.
    #[serde(rename = "modelID", default = "default_model")]
    #[schemars(length(min = 1, max = 256))]
    pub model_id: String,
    /// The revision that is fetched: a commit, which pins the model, a tag or a branch. What is there of another revision is not taken for it.
    #[serde(default = "default_revision")]
    #[schemars(length(min = 1, max = 256))]
    pub revision: String,
    /// Where models are fetched from.
    #[serde(default = "default_hub")]
    #[schemars(length(max = 2048))]
    #[x_kube(validation = http_url("embedding.local.hubUrl", "https://huggingface.co"))]
    pub hub_url: String,
    /// The name of a Secret whose key `HF_TOKEN` is the hub's access token, for models that need one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253), regex(pattern = OBJECT_NAME))]
    pub model_access_secret: Option<String>,
    /// An image with the model. It is accepted, and nothing is done with it: the model is that of `modelID`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub image: Option<String>,
    /// The name of a Secret that `image` is pulled with. It is accepted, and nothing is done with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub image_pull_secret: Option<String>,
    /// The longest text in tokens, instead of the model's own limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub max_tokens: Option<u32>,
    /// How the vectors of a text's tokens become one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pooling: Option<Pooling>,
    /// Text put before every query, instead of what the model's files or its family ask for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub query_prefix: Option<String>,
    /// Text put before every chunk, instead of what the model's files or its family ask for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub passage_prefix: Option<String>,
}

impl Default for LocalEmbedding {
    fn default() -> Self {
        Self {
            model_id: default_model(),
            revision: default_revision(),
            hub_url: default_hub(),
            model_access_secret: None,
            image: None,
            image_pull_secret: None,
            max_tokens: None,
            pooling: None,
            query_prefix: None,
            passage_prefix: None,
        }
    }
}

/// How the vectors of a text's tokens become one, instead of what the model's files say: `mean` is their mean, `cls` the first token's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Pooling {
    /// Their mean.
    Mean,
    /// The first token's.
    Cls,
}

/// An OpenAI-compatible `/v1/embeddings` endpoint.
#[derive(KubeSchema, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RemoteEmbedding {
    /// Its address: up to `/v1`, or up to `/v1/embeddings`.
    #[schemars(length(max = 2048))]
    #[x_kube(validation = http_url("embedding.remote.url", "https://api.openai.com/v1"))]
    pub url: String,
    /// The model's name there.
    #[schemars(length(min = 1, max = 256))]
    pub model: String,
    /// The name of a Secret whose key `EMBEDDING_ACCESS_SECRET` is sent as a bearer token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253), regex(pattern = OBJECT_NAME))]
    pub access_secret: Option<String>,
    /// The width of the vectors to ask for, where the model offers several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65536))]
    pub dimensions: Option<u32>,
    /// The longest text that it takes, in tokens.
    #[serde(default = "default_max_tokens")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub max_tokens: u32,
    /// Texts in one request.
    #[serde(default = "default_batch_size")]
    #[schemars(range(min = 1, max = 4096))]
    pub batch_size: u32,
    /// How long one request may take, in seconds.
    #[serde(default = "default_timeout_seconds")]
    #[schemars(range(min = 1, max = 3600))]
    pub timeout_seconds: u32,
    /// Text put before every query.
    #[serde(default)]
    #[schemars(length(max = 1024))]
    pub query_prefix: String,
    /// Text put before every chunk.
    #[serde(default)]
    #[schemars(length(max = 1024))]
    pub passage_prefix: String,
}

fn default_model() -> String {
    "sentence-transformers/all-MiniLM-L6-v2".to_owned()
}

fn default_revision() -> String {
    "main".to_owned()
}

fn default_hub() -> String {
    "https://huggingface.co".to_owned()
}

fn default_max_tokens() -> u32 {
    8191
}

fn default_batch_size() -> u32 {
    64
}

fn default_timeout_seconds() -> u32 {
    60
}

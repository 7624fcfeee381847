use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rules::{OBJECT_NAME, http_url, onnx_file};

/// Embedding model that turns text into vectors.
#[derive(KubeSchema, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("has(self.local) != has(self.remote)").message(
        "embedding needs exactly one of local and remote: write local: {} for the model in the image, or remote with \
         url and model"
    )
)]
pub struct Embedding {
    /// A model that runs in the engine, on the CPU.
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

/// A sentence-transformers model in the ONNX format.
#[derive(KubeSchema, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LocalEmbedding {
    /// Name of the model on the hub, as `organisation/name`, or the path of a folder with its files on a volume that
    /// `podTemplate` mounts. The first start downloads the model to the engine's volume. Default:
    /// `sentence-transformers/all-MiniLM-L6-v2`, which is in the image.
    #[serde(rename = "modelID", default = "default_model")]
    #[schemars(length(min = 1, max = 256))]
    pub model_id: String,
    /// ONNX file of the model in its repository or folder, such as `onnx/model_qint8_avx512_vnni.onnx`. One with int8
    /// weights embeds faster and needs less memory. A change embeds all indexes again. Default: `onnx/model.onnx` or
    /// `model.onnx`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    #[x_kube(validation = onnx_file("embedding.local.modelFile"))]
    pub model_file: Option<String>,
    /// Revision to download: a branch, a tag, or a commit to pin the model. Files of other revisions are not used.
    /// Default: `main`.
    #[serde(default = "default_revision")]
    #[schemars(length(min = 1, max = 256))]
    pub revision: String,
    /// URL of the hub that the model is downloaded from. Default: `https://huggingface.co`.
    #[serde(default = "default_hub")]
    #[schemars(length(max = 2048))]
    #[x_kube(validation = http_url("embedding.local.hubUrl", "https://huggingface.co"))]
    pub hub_url: String,
    /// Name of a Secret whose key `HF_TOKEN` holds the access token of the hub, for private or gated models. Default:
    /// no token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253), regex(pattern = OBJECT_NAME))]
    pub model_access_secret: Option<String>,
    /// Image with the model. Accepted for compatibility and ignored: `modelID` selects the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub image: Option<String>,
    /// Name of a Secret for pulling `image`. Accepted for compatibility and ignored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub image_pull_secret: Option<String>,
    /// Maximum length of a text, in tokens. Default: the limit of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub max_tokens: Option<u32>,
    /// How the token vectors of a text are combined: `mean` averages them, `cls` uses the vector of the first token.
    /// Default: the setting in the model's files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pooling: Option<Pooling>,
    /// Text that is prepended to each query. Default: the prefix from the model's files or its model family.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub query_prefix: Option<String>,
    /// Text that is prepended to each chunk. Default: the prefix from the model's files or its model family.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub passage_prefix: Option<String>,
    /// Whether each chunk is embedded with the name of its document: the words of `path` in its metadata, and `title`.
    /// Questions that name their subject find more. A change embeds all indexes again. Default: false.
    #[serde(default)]
    pub document_names: bool,
}

impl Default for LocalEmbedding {
    fn default() -> Self {
        Self {
            model_id: default_model(),
            model_file: None,
            revision: default_revision(),
            hub_url: default_hub(),
            model_access_secret: None,
            image: None,
            image_pull_secret: None,
            max_tokens: None,
            pooling: None,
            query_prefix: None,
            passage_prefix: None,
            document_names: false,
        }
    }
}

/// How the token vectors of a text are combined: `mean` averages them, `cls` uses the vector of the first token.
/// Default: the setting in the model's files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Pooling {
    /// The mean of the token vectors.
    Mean,
    /// The vector of the first token.
    Cls,
}

/// An OpenAI-compatible `/v1/embeddings` endpoint.
#[derive(KubeSchema, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RemoteEmbedding {
    /// URL of the endpoint, up to `/v1` or `/v1/embeddings`.
    #[schemars(length(max = 2048))]
    #[x_kube(validation = http_url("embedding.remote.url", "https://api.openai.com/v1"))]
    pub url: String,
    /// Name of the model at the endpoint.
    #[schemars(length(min = 1, max = 256))]
    pub model: String,
    /// Name of a Secret whose key `EMBEDDING_ACCESS_SECRET` is sent as a bearer token. Default: no token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253), regex(pattern = OBJECT_NAME))]
    pub access_secret: Option<String>,
    /// Number of dimensions to request, for models that offer several. Default: chosen by the endpoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65536))]
    pub dimensions: Option<u32>,
    /// Maximum length of a text that the endpoint accepts, in tokens. Default: 8191.
    #[serde(default = "default_max_tokens")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub max_tokens: u32,
    /// Maximum number of texts in one request. Default: 64.
    #[serde(default = "default_batch_size")]
    #[schemars(range(min = 1, max = 4096))]
    pub batch_size: u32,
    /// Timeout of one request, in seconds. Default: 60.
    #[serde(default = "default_timeout_seconds")]
    #[schemars(range(min = 1, max = 3600))]
    pub timeout_seconds: u32,
    /// Text that is prepended to each query. Default: empty.
    #[serde(default)]
    #[schemars(length(max = 1024))]
    pub query_prefix: String,
    /// Text that is prepended to each chunk. Default: empty.
    #[serde(default)]
    #[schemars(length(max = 1024))]
    pub passage_prefix: String,
    /// Whether each chunk is embedded with the name of its document: the words of `path` in its metadata, and `title`.
    /// Questions that name their subject find more. A change embeds all indexes again. Default: false.
    #[serde(default)]
    pub document_names: bool,
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

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::SecretReference;

/// Either `local` or `remote`. Default: the local model all-MiniLM-L6-v2.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Embedding {
    /// A sentence-transformer model that this server runs on the CPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub local: Option<LocalEmbedding>,
    /// An OpenAI-compatible `/v1/embeddings` endpoint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remote: Option<RemoteEmbedding>,
}

/// The embedding model in effect.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum EmbeddingSource {
    /// A model that this server runs.
    Local(LocalEmbedding),
    /// A remote endpoint.
    Remote(RemoteEmbedding),
}

impl EmbeddingSource {
    /// Whether each chunk is embedded with the name of its document.
    pub fn has_document_names(&self) -> bool {
        match self {
            Self::Local(local) => local.document_names,
            Self::Remote(remote) => remote.document_names,
        }
    }
}

impl Embedding {
    /// Returns the configured model. If both are set this is `remote`, but [`crate::validate`] refuses such settings.
    pub fn source(&self) -> EmbeddingSource {
        match (&self.remote, &self.local) {
            (Some(remote), _) => EmbeddingSource::Remote(remote.clone()),
            (None, Some(local)) => EmbeddingSource::Local(local.clone()),
            (None, None) => EmbeddingSource::Local(LocalEmbedding::default()),
        }
    }
}

/// A sentence-transformer model, exported as ONNX, with its tokenizer.json.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct LocalEmbedding {
    /// The model's name on the hub (`organisation/name`), or the path of a folder with its files (absolute, or
    /// beginning with `./`). A model of the hub is downloaded into `dataDir/models` unless it is there. The hashes of
    /// downloaded files are stored there and compared at each start.
    #[serde(rename = "modelID")]
    pub model_id: String,
    /// The model's ONNX file in its repository or folder, such as `onnx/model_qint8_avx512_vnni.onnx`. Default:
    /// `onnx/model.onnx` or `model.onnx`. One with int8 weights embeds faster and needs less memory; docs/quality.md
    /// says what it costs. A change embeds all indexes again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_file: Option<String>,
    /// The revision to download: a commit, which pins the model, a tag or a branch. Files of another revision are not
    /// used.
    pub revision: String,
    /// The address that models are downloaded from.
    pub hub_url: String,
    /// The hub's access token, for models that need one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hub_token: Option<SecretReference>,
    /// Threads that embed queries. The same number of threads embeds documents. 0: one for each core.
    pub threads: u32,
    /// Maximum text size in tokens. Default: the model's own limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// How the vectors of a text's tokens are combined. Default: what the model's files say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pooling: Option<Pooling>,
    /// Text put before every query. Default: what the model's files or its family specify.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query_prefix: Option<String>,
    /// Text put before every chunk. Default: what the model's files or its family specify.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passage_prefix: Option<String>,
    /// Whether each chunk is embedded with the name of its document: the words of `path` in its metadata, and
    /// `title`. Questions that name their subject find more. A change embeds all indexes again.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub document_names: bool,
    /// Maximum number of queries that wait for a thread. Further queries get a 429.
    pub queue: u32,
}

impl Default for LocalEmbedding {
    fn default() -> Self {
        Self {
            model_id: "sentence-transformers/all-MiniLM-L6-v2".to_owned(),
            model_file: None,
            revision: "main".to_owned(),
            hub_url: "https://huggingface.co".to_owned(),
            hub_token: None,
            threads: 0,
            max_tokens: None,
            pooling: None,
            query_prefix: None,
            passage_prefix: None,
            document_names: false,
            queue: 512,
        }
    }
}

/// How the vectors of a text's tokens are combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Pooling {
    /// The mean of all vectors.
    Mean,
    /// The vector of the first token.
    Cls,
}

/// An OpenAI-compatible `/v1/embeddings` endpoint.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RemoteEmbedding {
    /// The endpoint's address, ending in `/v1` or `/v1/embeddings`.
    pub url: String,
    /// The model's name at the endpoint.
    pub model: String,
    /// The API key, sent as a bearer token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_key: Option<SecretReference>,
    /// The number of dimensions to request. Needed only if the model offers several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dimensions: Option<u32>,
    /// Maximum text size in tokens.
    #[serde(default = "remote_max_tokens")]
    pub max_tokens: u32,
    /// Number of texts in one request.
    #[serde(default = "remote_batch_size")]
    pub batch_size: u32,
    /// Timeout of one request, in seconds.
    #[serde(default = "remote_timeout_seconds")]
    pub timeout_seconds: u64,
    /// Text put before every query.
    #[serde(default)]
    pub query_prefix: String,
    /// Text put before every chunk.
    #[serde(default)]
    pub passage_prefix: String,
    /// As `embedding.local.documentNames`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub document_names: bool,
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

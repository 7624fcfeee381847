use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::rules::{OBJECT_NAME, http_url};

/// A cross-encoder in the ONNX format, which runs in the engine, on the CPU.
#[derive(KubeSchema, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LocalReranker {
    /// Name of the model on the hub, as `organisation/name`, or the path of a folder with its files on a volume that
    /// `podTemplate` mounts. The first start downloads the model to the engine's volume. Default:
    /// `cross-encoder/ms-marco-MiniLM-L6-v2`.
    #[serde(rename = "modelID", default = "default_model")]
    #[schemars(length(min = 1, max = 256))]
    pub model_id: String,
    /// Revision to download: a branch, a tag, or a commit to pin the model. Default: `main`.
    #[serde(default = "default_revision")]
    #[schemars(length(min = 1, max = 256))]
    pub revision: String,
    /// URL of the hub that the model is downloaded from. Default: `https://huggingface.co`.
    #[serde(default = "default_hub")]
    #[schemars(length(max = 2048))]
    #[x_kube(validation = http_url("rerank.local.hubUrl", "https://huggingface.co"))]
    pub hub_url: String,
    /// Name of a Secret whose key `HF_TOKEN` holds the access token of the hub, for private or gated models. Default:
    /// no token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253), regex(pattern = OBJECT_NAME))]
    pub model_access_secret: Option<String>,
    /// Maximum length of a question with a chunk, in tokens. The end of a longer chunk is not read. Default: the limit
    /// of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub max_tokens: Option<u32>,
}

impl Default for LocalReranker {
    fn default() -> Self {
        Self {
            model_id: default_model(),
            revision: default_revision(),
            hub_url: default_hub(),
            model_access_secret: None,
            max_tokens: None,
        }
    }
}

fn default_model() -> String {
    "cross-encoder/ms-marco-MiniLM-L6-v2".to_owned()
}

fn default_revision() -> String {
    "main".to_owned()
}

fn default_hub() -> String {
    "https://huggingface.co".to_owned()
}

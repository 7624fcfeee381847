use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Container image of the server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Image {
    /// Image name without tag. Default: the image that the operator was installed with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 512), regex(pattern = r"^[a-zA-Z0-9][a-zA-Z0-9._:/-]*$"))]
    pub repository: Option<String>,
    /// Image tag. Default: the version of the operator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 128), regex(pattern = r"^([a-zA-Z0-9_][a-zA-Z0-9._-]*)?$"))]
    pub tag: Option<String>,
    /// Image digest, as `sha256:…`. Takes precedence over the tag. Default: the image is selected by its tag.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 71), regex(pattern = r"^sha256:[0-9a-f]{64}$"))]
    pub digest: Option<String>,
    /// When the image is pulled: `Always`, `IfNotPresent` or `Never`. Default: `IfNotPresent`.
    #[serde(default)]
    pub pull_policy: ImagePullPolicy,
}

/// When an image is pulled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ImagePullPolicy {
    /// Each time a pod starts.
    Always,
    /// If the node does not have the image.
    #[default]
    IfNotPresent,
    /// The node must already have the image.
    Never,
}

impl ImagePullPolicy {
    /// The value of `imagePullPolicy` of a container.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Always => "Always",
            Self::IfNotPresent => "IfNotPresent",
            Self::Never => "Never",
        }
    }
}

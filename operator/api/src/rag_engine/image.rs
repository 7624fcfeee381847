use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The server's image.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Image {
    /// The image without its tag. Not set: the one that the operator was installed with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 512), regex(pattern = r"^[a-zA-Z0-9][a-zA-Z0-9._:/-]*$"))]
    pub repository: Option<String>,
    /// The tag. Not set: the operator's own version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 128), regex(pattern = r"^([a-zA-Z0-9_][a-zA-Z0-9._-]*)?$"))]
    pub tag: Option<String>,
    /// The digest, `sha256:…`: exactly this image runs, whatever the tag is. Not set: what the tag means.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 71), regex(pattern = r"^sha256:[0-9a-f]{64}$"))]
    pub digest: Option<String>,
    /// When it is pulled.
    #[serde(default)]
    pub pull_policy: ImagePullPolicy,
}

/// When an image is pulled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ImagePullPolicy {
    /// Whenever a pod starts.
    Always,
    /// When the node does not have it.
    #[default]
    IfNotPresent,
    /// Never: the node must have it.
    Never,
}

impl ImagePullPolicy {
    /// As a container's `imagePullPolicy` has it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Always => "Always",
            Self::IfNotPresent => "IfNotPresent",
            Self::Never => "Never",
        }
    }
}

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rules::OBJECT_NAME;

/// Filters for answers. Accepted for compatibility and ignored: answers are not filtered, as the condition `Ready`
/// reports.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Guardrails {
    /// Whether to filter answers. Accepted for compatibility and ignored. Default: false.
    #[serde(default)]
    pub enabled: bool,
    /// ConfigMap with the policy. Accepted for compatibility and ignored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_map_ref: Option<ConfigMapReference>,
}

/// Reference to a ConfigMap in the same namespace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigMapReference {
    /// Name of the ConfigMap. It does not have to exist.
    #[schemars(length(min = 1, max = 253), regex(pattern = OBJECT_NAME))]
    pub name: String,
}

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rules::OBJECT_NAME;

/// What is looked for in answers. It is accepted, and nothing is done with it: answers are not filtered, and the condition Ready says so.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Guardrails {
    /// Whether answers are to be filtered. It is accepted, and nothing is done with it.
    #[serde(default)]
    pub enabled: bool,
    /// The policy. It is accepted, and not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_map_ref: Option<ConfigMapReference>,
}

/// A ConfigMap of the same namespace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigMapReference {
    /// The ConfigMap's name. It is accepted, and the ConfigMap need not exist.
    #[schemars(length(min = 1, max = 253), regex(pattern = OBJECT_NAME))]
    pub name: String,
}

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rules::OBJECT_NAME;

/// Checks of all answers, also of those that are passed through. While there is no valid policy, chats get a 503.
#[derive(KubeSchema, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("!self.enabled || has(self.configMapRef)").message(
        "guardrails.enabled needs guardrails.configMapRef: name a ConfigMap with the policy under the key \
         guardrails.yaml, such as configMapRef: {name: policy}, or write enabled: false"
    )
)]
pub struct Guardrails {
    /// Whether answers are checked. Default: false.
    #[serde(default)]
    pub enabled: bool,
    /// ConfigMap whose key `guardrails.yaml` is the policy. A change needs no restart. Required with `enabled: true`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_map_ref: Option<ConfigMapReference>,
}

/// Reference to a ConfigMap in the same namespace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigMapReference {
    /// Name of the ConfigMap.
    #[schemars(length(min = 1, max = 253), regex(pattern = OBJECT_NAME))]
    pub name: String,
}

use std::borrow::Cow;
use std::collections::BTreeMap;

use k8s_openapi::ClusterResourceScope;
use kube::Resource;
use kube::api::ObjectMeta;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{API_VERSION, GROUP, KIND, PLURAL, VERSION};

/// A request for a node. Only the parts that the operator writes and reads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeClaim {
    #[serde(default = "api_version")]
    api_version: String,
    #[serde(default = "kind")]
    kind: String,
    /// Name and labels. A NodeClaim is in no namespace, so a RAGEngine cannot own it.
    pub metadata: ObjectMeta,
    /// The specification, which never changes.
    #[serde(default)]
    pub spec: Value,
    /// What Karpenter says about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<NodeClaimStatus>,
}

/// The status of a NodeClaim.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeClaimStatus {
    /// The name of its node, once that has joined the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_name: Option<String>,
    /// Its conditions.
    #[serde(default)]
    pub conditions: Vec<NodeClaimCondition>,
}

/// A condition of a NodeClaim.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct NodeClaimCondition {
    /// `Launched`, `Registered`, `Initialized`, `Ready` or another one.
    #[serde(rename = "type")]
    pub type_: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// The reason, as one word.
    #[serde(default)]
    pub reason: String,
    /// The reason, in words.
    #[serde(default)]
    pub message: String,
}

impl NodeClaim {
    /// A NodeClaim with this specification.
    pub fn new(metadata: ObjectMeta, spec: Value) -> Self {
        Self { api_version: api_version(), kind: kind(), metadata, spec, status: None }
    }

    /// Its name. Empty only in tests.
    pub fn name(&self) -> &str {
        self.metadata.name.as_deref().unwrap_or_default()
    }

    /// Whether it is being deleted. Karpenter deletes its node first.
    pub fn is_going(&self) -> bool {
        self.metadata.deletion_timestamp.is_some()
    }

    /// One of its conditions.
    pub fn condition(&self, type_: &str) -> Option<&NodeClaimCondition> {
        self.status.as_ref()?.conditions.iter().find(|condition| condition.type_ == type_)
    }

    /// Whether its node can run pods.
    pub fn is_ready(&self) -> bool {
        !self.is_going() && self.condition("Ready").is_some_and(|ready| ready.status == "True")
    }

    /// The name of its node, if that has joined the cluster.
    pub fn node(&self) -> Option<&str> {
        self.status.as_ref()?.node_name.as_deref().filter(|name| !name.is_empty())
    }
}

/// Whether a pod that is placed on the node of `wanted` could be placed on the node of `found`, as far as their
/// specifications say.
pub fn is_alike(found: &NodeClaim, wanted: &NodeClaim) -> bool {
    let labels = found.metadata.labels.as_ref();
    let has =
        |label: &str, value: &str| labels.and_then(|labels| labels.get(label)).is_some_and(|found| found == value);
    let has_labels = wanted.metadata.labels.iter().flatten().all(|(label, value)| has(label, value));
    let (has_values, values) = (values(found), values(wanted));
    // A node has properties that its NodeClaim does not ask for, so one that is not named may be the same.
    has_labels && values.iter().all(|(key, value)| has_values.get(key).is_none_or(|found| found == value))
}

/// The values that a NodeClaim requires of its node.
fn values(claim: &NodeClaim) -> BTreeMap<&str, &Value> {
    let requirements = claim.spec["requirements"].as_array().map(Vec::as_slice).unwrap_or_default();
    requirements.iter().filter_map(|one| Some((one["key"].as_str()?, &one["values"]))).collect()
}

fn api_version() -> String {
    API_VERSION.to_owned()
}

fn kind() -> String {
    KIND.to_owned()
}

impl Resource for NodeClaim {
    type DynamicType = ();
    type Scope = ClusterResourceScope;

    fn kind((): &()) -> Cow<'_, str> {
        KIND.into()
    }

    fn group((): &()) -> Cow<'_, str> {
        GROUP.into()
    }

    fn version((): &()) -> Cow<'_, str> {
        VERSION.into()
    }

    fn plural((): &()) -> Cow<'_, str> {
        PLURAL.into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nodes_are_alike_where_labels_and_requirements_agree() {
        let claim = |labels: Value, requirements: Value| -> NodeClaim {
            let requirements: Vec<_> = requirements
                .as_object()
                .unwrap()
                .iter()
                .map(|(key, value)| json!({"key": key, "operator": "In", "values": [value]}))
                .collect();
            let spec = json!({"requirements": requirements});
            serde_json::from_value(json!({"metadata": {"labels": labels}, "spec": spec})).unwrap()
        };
        let found = claim(json!({"disk": "ssd", "more": "a"}), json!({"type": "large", "arch": "arm64"}));
        for (labels, requirements, expected) in [
            (json!({"disk": "ssd"}), json!({"type": "large"}), true),
            (json!({"disk": "ssd"}), json!({"type": "large", "zone": "a"}), true),
            (json!({"disk": "ssd"}), json!({"type": "larger"}), false),
            (json!({"disk": "hdd"}), json!({"type": "large"}), false),
            (json!({"another": "b"}), json!({"type": "large"}), false),
        ] {
            assert_eq!(
                is_alike(&found, &claim(labels.clone(), requirements.clone())),
                expected,
                "{labels} {requirements}"
            );
        }
    }
}

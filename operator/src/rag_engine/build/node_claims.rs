//! The NodeClaims of an engine. Their specification can never be changed, so their name has a hash of what was asked for:
//! a changed machine type is another NodeClaim.

use std::collections::BTreeMap;

use kube::api::ObjectMeta;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::defaults::Defaults;
use crate::karpenter::{NodeClaim, NodeClass, PROPERTIES};
use crate::names::Identity;
use crate::pod_parts::{GPU_TAINT, INSTANCE_TYPE, node_labels};
use crate::rag_engine::nodes::{Provider, instance_type, wants};
use crate::rag_engine::observe::Observed;
use crate::rag_engine::validate::Validated;

/// The node pool that the nodes say to be of. There is none of this name, so that no node pool counts or replaces them.
const NODE_POOL: (&str, &str) = ("karpenter.sh/nodepool", "ragengine");
/// Keeps Karpenter from replacing a node by a cheaper one, because that restarts pods.
const DO_NOT_DISRUPT: (&str, &str) = ("karpenter.sh/do-not-disrupt", "true");
/// Room for images and logs. Karpenter chooses the size of the disk by it where the node class does not.
const DISK: &str = "10Gi";
/// The letters of names. Some clouds name a group of machines after the NodeClaim, with 12 lower case letters and digits
/// at most.
const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
/// The number of these letters, after an `r`: 55 bits.
const NAME_LETTERS: usize = 11;

/// The NodeClaims that the engine needs now. Those beyond the limit are kept if they exist, and are not made.
pub(super) fn node_claims(validated: &Validated, observed: &Observed, defaults: &Defaults) -> Vec<NodeClaim> {
    let (Provider::Karpenter(node_class), Some(instance_type)) =
        (&observed.nodes.provider, instance_type(&validated.spec))
    else {
        return Vec::new();
    };
    if !wants(&validated.spec) {
        return Vec::new();
    }
    let compute = validated.spec.compute.clone().unwrap_or_default();
    let users = node_labels(&compute).unwrap_or_default();
    let (properties, given): (BTreeMap<_, _>, BTreeMap<_, _>) = users
        .into_iter()
        .filter(|(label, _)| label != INSTANCE_TYPE && label != NODE_POOL.0)
        .partition(|(label, _)| PROPERTIES.contains(&label.as_str()));
    // Without what the operator adds, so that no new version of it replaces the nodes.
    let content = json!([instance_type, properties, given, node_class]);
    let spec = spec(node_class, instance_type, properties);
    let pool = (NODE_POOL.0.to_owned(), NODE_POOL.1.to_owned());
    let labels: BTreeMap<_, _> = given.into_iter().chain(validated.identity.node_labels()).chain([pool]).collect();
    let claim = |ordinal| {
        let metadata = ObjectMeta {
            name: Some(name(&validated.identity, &content, ordinal)),
            labels: Some(labels.clone()),
            annotations: Some(BTreeMap::from([(DO_NOT_DISRUPT.0.to_owned(), DO_NOT_DISRUPT.1.to_owned())])),
            ..ObjectMeta::default()
        };
        NodeClaim::new(metadata, spec.clone())
    };
    let is_there = |wanted: &NodeClaim| {
        observed.nodes.claims.iter().any(|found| found.name() == wanted.name() && !found.is_going())
    };
    (0..compute.count.unwrap_or(1))
        .map(|ordinal| (ordinal, claim(ordinal)))
        .filter(|(ordinal, wanted)| *ordinal < defaults.node_limits.most || is_there(wanted))
        .map(|(_, wanted)| wanted)
        .collect()
}

fn spec(node_class: &NodeClass, instance_type: &str, properties: BTreeMap<String, String>) -> Value {
    let mut required = BTreeMap::from([("kubernetes.io/os".to_owned(), "linux".to_owned())]);
    required.extend(properties);
    required.extend([(INSTANCE_TYPE, instance_type), NODE_POOL].map(|(label, value)| (label.into(), value.into())));
    let requirements: Vec<_> =
        required.into_iter().map(|(key, value)| json!({"key": key, "operator": "In", "values": [value]})).collect();
    json!({
        "nodeClassRef": node_class,
        "requirements": requirements,
        "resources": {"requests": {"ephemeral-storage": DISK}},
        "taints": [{"key": GPU_TAINT.0, "value": GPU_TAINT.1, "effect": "NoSchedule"}],
        // By default the node would be deleted after 30 days, with the pod on it.
        "expireAfter": "Never",
    })
}

/// The uid of the engine makes names unique in the cluster.
fn name(identity: &Identity, content: &Value, ordinal: u32) -> String {
    let digest = Sha256::digest(json!([identity.uid, content, ordinal]).to_string());
    let bits = digest.iter().take(8).fold(0_u64, |bits, byte| (bits << 8) | u64::from(*byte));
    let letter = |place: usize| char::from(LETTERS[((bits >> (5 * place)) & 31) as usize]);
    format!("r{}", (0..NAME_LETTERS).map(letter).collect::<String>())
}

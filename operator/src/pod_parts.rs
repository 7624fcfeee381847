//! The parts that all pods of the operator share: security contexts, nodes and pull secrets.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    Capabilities, LocalObjectReference, PodSecurityContext, SeccompProfile, SecurityContext, Toleration,
};
use ragengine_operator_api::Compute;

use crate::defaults::Defaults;
use crate::openshift::PodUser;

/// The user id of the image, which is also the group id of the volume's files.
const NONROOT_USER: i64 = 65532;

/// The label of a node with its machine type.
pub const INSTANCE_TYPE: &str = "node.kubernetes.io/instance-type";
/// The taint of nodes that are made for engines.
pub const GPU_TAINT: (&str, &str) = ("sku", "gpu");
/// The taint that administrators and clouds give nodes with GPUs.
const NVIDIA_TAINT: &str = "nvidia.com/gpu";

/// The security context of a pod: unprivileged.
pub fn pod_security(user: PodUser) -> PodSecurityContext {
    let id = (user == PodUser::OfImage).then_some(NONROOT_USER);
    PodSecurityContext {
        run_as_non_root: Some(true),
        run_as_user: id,
        run_as_group: id,
        fs_group: id,
        // Avoids changing the group of all files each time the volume is mounted.
        fs_group_change_policy: Some("OnRootMismatch".to_owned()),
        seccomp_profile: Some(SeccompProfile { type_: "RuntimeDefault".to_owned(), localhost_profile: None }),
        ..PodSecurityContext::default()
    }
}

/// The security context of a container: no capabilities and a read-only root file system.
pub fn container_security() -> SecurityContext {
    SecurityContext {
        allow_privilege_escalation: Some(false),
        capabilities: Some(Capabilities { add: None, drop: Some(vec!["ALL".to_owned()]) }),
        read_only_root_filesystem: Some(true),
        ..SecurityContext::default()
    }
}

/// The required node labels, if any.
pub fn node_labels(compute: &Compute) -> Option<BTreeMap<String, String>> {
    let labels = &compute.label_selector.as_ref()?.match_labels;
    (!labels.is_empty()).then(|| labels.clone())
}

/// The tolerations of pods on nodes of a machine type: those of `users`, and of the usual taints of nodes with GPUs.
pub fn tolerations(compute: Option<&Compute>, users: Vec<Toleration>) -> Option<Vec<Toleration>> {
    let taint = |key: &str, value: Option<&str>| Toleration {
        key: Some(key.to_owned()),
        operator: Some(if value.is_some() { "Equal" } else { "Exists" }.to_owned()),
        value: value.map(str::to_owned),
        effect: Some("NoSchedule".to_owned()),
        toleration_seconds: None,
    };
    let mut all = users;
    if compute.is_some_and(|compute| compute.instance_type.is_some()) {
        for ours in [taint(GPU_TAINT.0, Some(GPU_TAINT.1)), taint(NVIDIA_TAINT, None)] {
            if !all.contains(&ours) {
                all.push(ours);
            }
        }
    }
    (!all.is_empty()).then_some(all)
}

/// The pull secrets of a pod: those of the operator's settings, then those of the user, without duplicates.
pub fn pull_secrets(defaults: &Defaults, users: Vec<LocalObjectReference>) -> Option<Vec<LocalObjectReference>> {
    let named = |name: &String| LocalObjectReference { name: name.clone() };
    let mut secrets: Vec<_> = defaults.pull_secrets.iter().map(named).collect();
    for secret in users {
        if !secrets.contains(&secret) {
            secrets.push(secret);
        }
    }
    (!secrets.is_empty()).then_some(secrets)
}

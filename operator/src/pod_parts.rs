//! What every pod of ours is made of, the server's and the Jobs': no rights, its nodes, and the Secrets that its images are pulled with.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    Capabilities, LocalObjectReference, PodSecurityContext, SeccompProfile, SecurityContext,
};
use ragengine_operator_api::Compute;

use crate::defaults::Defaults;
use crate::openshift::PodUser;

/// The user of the image, and the group that the volume's files get.
const NONROOT_USER: i64 = 65532;

/// What a pod of ours may be to its node: nothing.
pub fn pod_security(user: PodUser) -> PodSecurityContext {
    let id = (user == PodUser::OfImage).then_some(NONROOT_USER);
    PodSecurityContext {
        run_as_non_root: Some(true),
        run_as_user: id,
        run_as_group: id,
        fs_group: id,
        // A volume that has the group is not walked again.
        fs_group_change_policy: Some("OnRootMismatch".to_owned()),
        seccomp_profile: Some(SeccompProfile { type_: "RuntimeDefault".to_owned(), localhost_profile: None }),
        ..PodSecurityContext::default()
    }
}

/// What a container of ours may do: nothing that needs a right.
pub fn container_security() -> SecurityContext {
    SecurityContext {
        allow_privilege_escalation: Some(false),
        capabilities: Some(Capabilities { add: None, drop: Some(vec!["ALL".to_owned()]) }),
        read_only_root_filesystem: Some(true),
        ..SecurityContext::default()
    }
}

/// The labels that a node must have, where any are asked for.
pub fn node_labels(compute: &Compute) -> Option<BTreeMap<String, String>> {
    let labels = &compute.label_selector.as_ref()?.match_labels;
    (!labels.is_empty()).then(|| labels.clone())
}

/// The Secrets that the images of a pod are pulled with: those that the operator was given for every pod, and the user's own. None is there twice.
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

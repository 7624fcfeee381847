//! Restricts podTemplate: users who may write RAGEngines get no more access to the node or the cluster than the
//! operator's administrator allows.

use k8s_openapi::api::core::v1::{Container, PodSpec};

use super::references::{ReferenceKind, of_pod};
use crate::defaults::{Allowance, Defaults};
use crate::secret_use::is_of_operator;

/// Messages for the forbidden parts of a template. The operator's own ServiceAccount and Secrets are always forbidden.
pub(super) fn refused(pod: &PodSpec, namespace: &str, defaults: &Defaults) -> Vec<String> {
    let found = [
        (Allowance::HostPath, "a hostPath volume", has_host_path(pod)),
        (
            Allowance::Privileged,
            "a privileged container, added capabilities or privilege escalation",
            is_privileged(pod),
        ),
        (Allowance::HostNamespaces, "hostNetwork, hostPID, hostIPC or a hostPort", has_host_namespaces(pod)),
    ];
    let found =
        found.into_iter().filter(|(allowance, _, is_set)| *is_set && !defaults.pod_template.contains(allowance));
    let settings = found.map(|(allowance, what, _)| {
        format!(
            "podTemplate.spec sets {what}, which this operator does not allow: \
             remove it, or start the operator with --pod-template {}",
            allowance.name()
        )
    });
    settings.chain(of_the_operator(pod, namespace, defaults)).collect()
}

fn containers(pod: &PodSpec) -> impl Iterator<Item = &Container> {
    pod.containers.iter().chain(pod.init_containers.iter().flatten())
}

fn has_host_path(pod: &PodSpec) -> bool {
    pod.volumes.iter().flatten().any(|volume| volume.host_path.is_some())
}

fn is_privileged(pod: &PodSpec) -> bool {
    containers(pod).filter_map(|container| container.security_context.as_ref()).any(|security| {
        let adds = security.capabilities.as_ref().and_then(|capabilities| capabilities.add.as_ref());
        security.privileged == Some(true)
            || security.allow_privilege_escalation == Some(true)
            || adds.is_some_and(|added| !added.is_empty())
            || security.proc_mount.as_deref() == Some("Unmasked")
    })
}

fn has_host_namespaces(pod: &PodSpec) -> bool {
    let has_host_port = |container: &Container| {
        container.ports.iter().flatten().any(|port| port.host_port.is_some_and(|port| port != 0))
    };
    [pod.host_network, pod.host_pid, pod.host_ipc].contains(&Some(true)) || containers(pod).any(has_host_port)
}

fn of_the_operator(pod: &PodSpec, namespace: &str, defaults: &Defaults) -> Vec<String> {
    if namespace != defaults.operator_namespace {
        return Vec::new();
    }
    let mut account = [&pod.service_account_name, &pod.service_account].into_iter().flatten();
    let account = account.find(|name| Some(*name) == defaults.account.as_ref()).map(|name| {
        format!(
            "podTemplate.spec.serviceAccountName is {name}, the operator's own ServiceAccount: use another one or none"
        )
    });
    let secret = of_pod(pod)
        .into_iter()
        .find(|found| found.kind == ReferenceKind::Secret && is_of_operator(&found.name, namespace, defaults));
    let secret =
        secret.map(|found| format!("podTemplate.spec refers to {found}, which belongs to the operator: remove it"));
    account.into_iter().chain(secret).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusals(pod: &str, namespace: &str, allowed: &[Allowance]) -> Vec<String> {
        let defaults = Defaults {
            server_image: "ragengine:1".parse().unwrap(),
            pull_secrets: vec!["registry".into()],
            pod_user: crate::openshift::PodUser::OfImage,
            rollouts: crate::rollouts::Rollouts::new(1),
            operator_namespace: "system".into(),
            cluster_domain: "cluster.local".into(),
            max_jobs: 1,
            require_secret_hosts: false,
            allowed_ranges: Vec::new(),
            account: Some("ragengine-operator".into()),
            pod_template: allowed.iter().copied().collect(),
            node_class: None,
            node_limits: crate::defaults::NodeLimits { most: 4, instance_types: [].into() },
        };
        refused(&serde_saphyr::from_str(pod).unwrap(), namespace, &defaults)
    }

    #[test]
    fn a_template_cannot_use_the_node_or_the_operators_own_objects() {
        use Allowance::{HostNamespaces, HostPath, Privileged};
        for (pod, allowance) in [
            ("{containers: [], volumes: [{name: a, hostPath: {path: /}}]}", HostPath),
            ("{containers: [{name: a, securityContext: {privileged: true}}]}", Privileged),
            ("{containers: [{name: a, securityContext: {allowPrivilegeEscalation: true}}]}", Privileged),
            ("{containers: [{name: a, securityContext: {capabilities: {add: [NET_ADMIN]}}}]}", Privileged),
            ("{containers: [], initContainers: [{name: a, securityContext: {privileged: true}}]}", Privileged),
            ("{containers: [], hostNetwork: true}", HostNamespaces),
            ("{containers: [], hostPID: true}", HostNamespaces),
            ("{containers: [{name: a, ports: [{containerPort: 1, hostPort: 1}]}]}", HostNamespaces),
        ] {
            let messages = refusals(pod, "team", &[]);
            assert!(messages.len() == 1 && messages[0].contains(allowance.name()), "{pod}: {messages:?}");
            assert!(refusals(pod, "team", &[allowance]).is_empty(), "{pod}");
        }
        for pod in [
            "{containers: [], serviceAccountName: ragengine-operator}",
            "{containers: [], volumes: [{name: a, secret: {secretName: sh.helm.release.v1.ragengine.v1}}]}",
            "{containers: [{name: a, envFrom: [{secretRef: {name: sh.helm.release.v1.ragengine.v1}}]}]}",
            "{containers: [], volumes: [{name: a, projected: {sources: [{secret: {name: registry}}]}}]}",
        ] {
            assert_eq!(refusals(pod, "system", &[HostPath, Privileged, HostNamespaces]).len(), 1, "{pod}");
            assert!(refusals(pod, "team", &[]).is_empty(), "allowed in other namespaces: {pod}");
        }
        let pulled = "{containers: [], imagePullSecrets: [{name: registry}]}";
        assert!(refusals(pulled, "system", &[]).is_empty(), "a pull secret is not readable in the pod");
        let plain = "{containers: [{name: a, securityContext: {privileged: false, capabilities: {drop: [ALL]}}}], \
                     hostNetwork: false}";
        assert!(refusals(plain, "team", &[]).is_empty());
    }
}

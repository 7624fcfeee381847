//! Pods: settings for the level `restricted`, descriptions of their state, and pods that run `cluster-client`.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    Capabilities, Container, ContainerStatus, Pod, PodSecurityContext, PodSpec, ResourceRequirements, SeccompProfile,
    SecurityContext,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use kube::api::ObjectMeta;
use serde_json::Value;

use crate::names::CLIENT;
use crate::namespace::Namespace;
use crate::{Error, cluster, logs, wait};

/// The user id of the images, and the group id of the volumes.
pub const USER: i64 = 65532;

/// The security context of a pod for the level `restricted`.
pub fn restricted_pod() -> PodSecurityContext {
    PodSecurityContext {
        fs_group: Some(USER),
        run_as_non_root: Some(true),
        seccomp_profile: Some(SeccompProfile { type_: "RuntimeDefault".to_owned(), ..SeccompProfile::default() }),
        ..PodSecurityContext::default()
    }
}

/// The security context of a container for the level `restricted`, with a read-only root file system.
pub fn restricted_container() -> SecurityContext {
    SecurityContext {
        allow_privilege_escalation: Some(false),
        capabilities: Some(Capabilities { add: None, drop: Some(vec!["ALL".to_owned()]) }),
        read_only_root_filesystem: Some(true),
        ..SecurityContext::default()
    }
}

/// Small requests, so that the tests fit on a small node, and a memory limit.
pub fn resources(cpu: &str, memory: &str, max_memory: &str) -> ResourceRequirements {
    let quantities = |entries: &[(&str, &str)]| {
        let entries = entries.iter().map(|(name, amount)| ((*name).to_owned(), Quantity((*amount).to_owned())));
        Some(entries.collect::<BTreeMap<_, _>>())
    };
    ResourceRequirements {
        requests: quantities(&[("cpu", cpu), ("memory", memory)]),
        limits: quantities(&[("memory", max_memory)]),
        claims: None,
    }
}

/// A container of `cluster-client`.
///
/// # Errors
///
/// When the environment does not name the image.
pub fn client_container(arguments: &[&str]) -> Result<Container, Error> {
    Ok(Container {
        name: CLIENT.to_owned(),
        image: Some(cluster::client_image()?),
        image_pull_policy: Some("IfNotPresent".to_owned()),
        args: Some(arguments.iter().map(|argument| (*argument).to_owned()).collect()),
        resources: Some(resources("10m", "16Mi", "128Mi")),
        security_context: Some(restricted_container()),
        ..Container::default()
    })
}

/// A pod that runs `cluster-client` once. Its name contains the purpose.
///
/// # Errors
///
/// When the environment does not name the image.
pub fn client_pod(purpose: &str, arguments: &[&str]) -> Result<Pod, Error> {
    Ok(Pod {
        metadata: ObjectMeta { generate_name: Some(format!("{CLIENT}-{purpose}-")), ..ObjectMeta::default() },
        spec: Some(PodSpec {
            automount_service_account_token: Some(false),
            containers: vec![client_container(arguments)?],
            enable_service_links: Some(false),
            restart_policy: Some("Never".to_owned()),
            security_context: Some(restricted_pod()),
            termination_grace_period_seconds: Some(1),
            ..PodSpec::default()
        }),
        status: None,
    })
}

/// Runs a pod of [`client_pod`] to its end, and returns the JSON that it printed.
///
/// # Errors
///
/// When the cluster refuses the pod, it does not end in time, or it fails. Then the error has its output.
pub async fn run_client(namespace: &Namespace, pod: &Pod) -> Result<Value, Error> {
    let name = namespace.create_object(pod).await?.metadata.name.unwrap_or_default();
    let pods = namespace.api::<Pod>();
    let wanted = format!("the pod {name} has ended");
    let succeeded = wait::until_object(&pods, &name, &wanted, |pod| {
        match pod.status.as_ref().and_then(|status| status.phase.as_deref()) {
            Some("Succeeded") => Ok(true),
            Some("Failed") => Ok(false),
            _ => Err(describe(pod)),
        }
    });
    let succeeded = succeeded.await?;
    let text = logs::of(&pods, &name, CLIENT).await?;
    if !succeeded {
        return Err(Error::Unexpected(format!("the pod {name} failed: {text}")));
    }
    serde_json::from_str(&text)
        .map_err(|error| Error::Unexpected(format!("the pod {name} did not print JSON: {error}: {text}")))
}

/// Returns the status of a container.
pub fn container_status<'a>(pod: &'a Pod, container: &str) -> Option<&'a ContainerStatus> {
    pod.status.as_ref()?.container_statuses.as_ref()?.iter().find(|status| status.name == container)
}

/// Whether the pod is ready.
pub fn is_ready(pod: &Pod) -> bool {
    let conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions.into_iter().any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

/// Describes the state of a pod in one line, for error messages.
pub fn describe(pod: &Pod) -> String {
    let name = pod.metadata.name.as_deref().unwrap_or_default();
    let Some(status) = &pod.status else { return format!("{name} has no status") };
    let mut words = vec![format!("{name} is {}", status.phase.as_deref().unwrap_or("new"))];
    if pod.metadata.deletion_timestamp.is_some() {
        words.push("being deleted".to_owned());
    }
    let conditions = status.conditions.iter().flatten().filter(|condition| condition.status != "True");
    words.extend(conditions.map(|condition| {
        let reason = condition.message.as_ref().or(condition.reason.as_ref());
        format!("not {}: {}", condition.type_, reason.map_or("", String::as_str))
    }));
    for container in status.container_statuses.iter().flatten() {
        let state = container.state.as_ref();
        if let Some(waiting) = state.and_then(|state| state.waiting.as_ref()) {
            let reason = [&waiting.reason, &waiting.message].map(|word| word.as_deref().unwrap_or_default()).join(" ");
            words.push(format!("{} waits: {reason}", container.name));
        }
        if let Some(ended) = state.and_then(|state| state.terminated.as_ref()) {
            words.push(format!("{} ended with {}", container.name, ended.exit_code));
        }
        if container.restart_count > 0 {
            words.push(format!("{} restarted {} times", container.name, container.restart_count));
        }
    }
    words.join("; ")
}

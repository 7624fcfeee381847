//! The Secrets and ConfigMaps that a pod refers to. Their content is never read.

use std::collections::BTreeSet;
use std::fmt;

use k8s_openapi::api::core::v1::{Container, PodSpec, PodTemplateSpec, Volume};

use super::pod::Reread;

/// The kind of a referenced object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ReferenceKind {
    /// A Secret.
    Secret,
    /// A ConfigMap.
    ConfigMap,
}

/// A Secret or ConfigMap of the pod's namespace.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Reference {
    /// Secret or ConfigMap.
    pub kind: ReferenceKind,
    /// Its name.
    pub name: String,
    /// Whether the pod starts without it.
    pub is_optional: bool,
    /// Whether the server reads it again when it changes, so that the pod is not restarted.
    pub is_reread: bool,
}

impl fmt::Display for Reference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            ReferenceKind::Secret => "Secret",
            ReferenceKind::ConfigMap => "ConfigMap",
        };
        write!(formatter, "{kind} {}", self.name)
    }
}

/// All Secrets and ConfigMaps that a pod refers to.
pub(super) fn of_pod(spec: &PodSpec) -> BTreeSet<Reference> {
    let volumes = spec.volumes.iter().flatten().flat_map(of_volume);
    volumes.chain(containers(spec).flat_map(of_container)).collect()
}

/// All Secrets and ConfigMaps that a pod refers to, except `ours`: the settings have their own hash, and a new write
/// token needs no restart. Those that the server reads again are marked, unless the pod also has them elsewhere.
pub fn references(pod: &PodTemplateSpec, ours: &[(ReferenceKind, String)], reread: &[Reread]) -> Vec<Reference> {
    let Some(mut spec) = pod.spec.clone() else { return Vec::new() };
    let is_reread = |volume: &Volume| reread.iter().any(|reread| reread.volume == volume.name);
    spec.volumes.iter_mut().for_each(|volumes| volumes.retain(|volume| !is_reread(volume)));
    let mut found = of_pod(&spec);
    for Reread { reference, .. } in reread {
        if !found.iter().any(|other| other.kind == reference.kind && other.name == reference.name) {
            found.insert(reference.clone());
        }
    }
    let is_ours = |reference: &Reference| ours.contains(&(reference.kind, reference.name.clone()));
    found.into_iter().filter(|reference| !reference.name.is_empty() && !is_ours(reference)).collect()
}

fn containers(spec: &PodSpec) -> impl Iterator<Item = &Container> {
    spec.containers.iter().chain(spec.init_containers.iter().flatten())
}

fn of_volume(volume: &Volume) -> Vec<Reference> {
    let mut found = Vec::new();
    if let Some(secret) = &volume.secret {
        found.push(reference(ReferenceKind::Secret, secret.secret_name.as_deref(), secret.optional));
    }
    if let Some(config_map) = &volume.config_map {
        found.push(reference(ReferenceKind::ConfigMap, Some(&config_map.name), config_map.optional));
    }
    let projections = volume.projected.iter().flat_map(|projected| projected.sources.iter().flatten());
    for projection in projections {
        if let Some(secret) = &projection.secret {
            found.push(reference(ReferenceKind::Secret, Some(&secret.name), secret.optional));
        }
        if let Some(config_map) = &projection.config_map {
            found.push(reference(ReferenceKind::ConfigMap, Some(&config_map.name), config_map.optional));
        }
    }
    found
}

fn of_container(container: &Container) -> Vec<Reference> {
    let mut found = Vec::new();
    for source in container.env_from.iter().flatten() {
        if let Some(secret) = &source.secret_ref {
            found.push(reference(ReferenceKind::Secret, Some(&secret.name), secret.optional));
        }
        if let Some(config_map) = &source.config_map_ref {
            found.push(reference(ReferenceKind::ConfigMap, Some(&config_map.name), config_map.optional));
        }
    }
    for source in container.env.iter().flatten().filter_map(|variable| variable.value_from.as_ref()) {
        if let Some(secret) = &source.secret_key_ref {
            found.push(reference(ReferenceKind::Secret, Some(&secret.name), secret.optional));
        }
        if let Some(config_map) = &source.config_map_key_ref {
            found.push(reference(ReferenceKind::ConfigMap, Some(&config_map.name), config_map.optional));
        }
    }
    found
}

fn reference(kind: ReferenceKind, name: Option<&str>, optional: Option<bool>) -> Reference {
    let is_optional = optional == Some(true);
    Reference { kind, name: name.unwrap_or_default().to_owned(), is_optional, is_reread: false }
}

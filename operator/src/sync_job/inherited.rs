//! The parts of a Job's pod that are copied from the engine.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{EnvVar, PodSpec};
use ragengine_operator_api::RagEngine;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::defaults::Defaults;
use crate::names::CONTAINER;
use crate::pod_parts::{node_labels, pull_secrets, tolerations};

/// The environment variables of proxies, in lower or upper case.
const PROXY_VARIABLES: [&str; 4] = ["http_proxy", "https_proxy", "all_proxy", "no_proxy"];

/// The proxy variables that podTemplate sets as plain values for the engine's container.
pub fn proxies(engine: &RagEngine) -> Vec<EnvVar> {
    let template = engine.spec.pod_template.as_ref();
    let containers = template.and_then(|template| template.spec.get("containers")).and_then(Value::as_array);
    let server = containers.into_iter().flatten().find(|container| container["name"] == CONTAINER);
    let variables = server.and_then(|server| server["env"].as_array()).into_iter().flatten();
    variables
        .filter_map(|variable| Some((variable["name"].as_str()?, variable["value"].as_str()?)))
        .filter(|(name, _)| PROXY_VARIABLES.contains(&name.to_ascii_lowercase().as_str()))
        .map(|(name, value)| EnvVar { name: name.to_owned(), value: Some(value.to_owned()), ..EnvVar::default() })
        .collect()
}

/// Node selection, tolerations and pull secrets of the engine.
pub fn placed(engine: &RagEngine, defaults: &Defaults) -> PodSpec {
    let template = engine.spec.pod_template.as_ref().map(|template| &template.spec);
    let field = |name: &str| template.and_then(|template| template.get(name)).cloned();
    let text = |name| field(name).and_then(|value| value.as_str().map(str::to_owned));
    let of_nodes = engine.spec.compute.as_ref().and_then(node_labels).into_iter().flatten();
    let of_template: BTreeMap<String, String> = read(field("nodeSelector")).unwrap_or_default();
    let nodes: BTreeMap<String, String> = of_nodes.chain(of_template).collect();
    PodSpec {
        image_pull_secrets: pull_secrets(defaults, read(field("imagePullSecrets")).unwrap_or_default()),
        node_selector: (!nodes.is_empty()).then_some(nodes),
        priority_class_name: text("priorityClassName"),
        runtime_class_name: text("runtimeClassName"),
        // `labelSelector` may leave only the nodes of a machine type.
        tolerations: tolerations(engine.spec.compute.as_ref(), read(field("tolerations")).unwrap_or_default()),
        ..PodSpec::default()
    }
}

/// A field of the wrong type is ignored here. The engine itself reports it.
fn read<T: DeserializeOwned>(field: Option<Value>) -> Option<T> {
    serde_json::from_value(field?).ok()
}

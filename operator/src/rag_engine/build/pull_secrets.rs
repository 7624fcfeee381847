use k8s_openapi::api::core::v1::LocalObjectReference;

use crate::rag_engine::validate::Defaults;

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

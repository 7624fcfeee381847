//! Checks what a Secret may be used for, according to its metadata: users who may write an Index or a RAGEngine can
//! refer to Secrets that they may not read.

use kube::api::ObjectMeta;
use ragengine_operator_api::RagEngine;

use kube::Resource as _;

use crate::defaults::Defaults;
use crate::names::{HOSTS_ANNOTATION, SERVICE_ACCOUNT_ANNOTATION};

/// The name prefix of the Secrets in which Helm stores releases.
const HELM_RELEASES: &str = "sh.helm.release.";

/// Why a Secret must not be used as credentials at all, if so.
pub fn refusal(metadata: &ObjectMeta) -> Option<&'static str> {
    let is_of_an_engine = metadata.owner_references.iter().flatten().any(|owner| owner.kind == RagEngine::kind(&()));
    refused_in_pod(metadata).or_else(|| is_of_an_engine.then_some("it contains the write token of a RAGEngine"))
}

/// Why a Secret must not be mounted into any pod, if so.
pub fn refused_in_pod(metadata: &ObjectMeta) -> Option<&'static str> {
    let annotations = metadata.annotations.as_ref();
    let is_token = annotations.is_some_and(|annotations| annotations.contains_key(SERVICE_ACCOUNT_ANNOTATION));
    is_token.then_some("it contains the token of a ServiceAccount")
}

/// Whether a Secret of this name belongs to the operator: it has a release of Helm or credentials for pulling images.
/// Who may write resources in the operator's namespace must not get its content.
pub fn is_of_operator(name: &str, namespace: &str, defaults: &Defaults) -> bool {
    let is_its = name.starts_with(HELM_RELEASES) || defaults.pull_secrets.iter().any(|secret| secret == name);
    is_its && namespace == defaults.operator_namespace
}

/// The only hosts that a Secret may be sent to, from its annotation. `None`: it has no annotation.
pub fn hosts(metadata: &ObjectMeta) -> Option<Vec<String>> {
    let value = metadata.annotations.as_ref()?.get(HOSTS_ANNOTATION)?;
    let hosts = value.split([',', ' ']).map(str::trim).filter(|host| !host.is_empty());
    Some(hosts.map(str::to_owned).collect())
}

/// Why a Secret must not be sent to a host (with or without a port), if so. If the host is unknown, a Secret that names
/// hosts is not sent.
pub fn refused_at(metadata: &ObjectMeta, host: Option<&str>) -> Option<String> {
    if let Some(why) = refusal(metadata) {
        return Some(why.to_owned());
    }
    let hosts = hosts(metadata)?;
    let is_named = host.is_some_and(|host| hosts.iter().any(|pattern| names(pattern, host)));
    (!is_named).then(|| {
        let named = if hosts.is_empty() { "no host".to_owned() } else { hosts.join(", ") };
        let host = host.unwrap_or("the default model hub");
        format!("its annotation {HOSTS_ANNOTATION} allows {named}, but not {host} (its owner can add it)")
    })
}

/// Whether a pattern matches a host: `a.example`, `a.example:8443`, or `*.example` for all subdomains. A pattern
/// without a port matches every port.
fn names(pattern: &str, host: &str) -> bool {
    let without_port = host.rsplit_once(':').filter(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
    let bare = without_port.map_or(host, |(name, _)| name);
    let candidate = if pattern.contains(':') { host } else { bare };
    match pattern.strip_prefix("*.") {
        Some(parent) => {
            let (candidate, parent) = (candidate.to_ascii_lowercase(), parent.to_ascii_lowercase());
            candidate.strip_suffix(&parent).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
        }
        None => candidate.eq_ignore_ascii_case(pattern),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn metadata(metadata: serde_json::Value) -> ObjectMeta {
        serde_json::from_value(metadata).unwrap()
    }

    #[test]
    fn tokens_of_the_cluster_and_of_engines_are_refused_as_credentials() {
        for (said, expected) in [
            (json!({}), None),
            (json!({"annotations": {"kubernetes.io/service-account.name": "a"}}), Some("ServiceAccount")),
            (
                json!({"ownerReferences": [
                    {"apiVersion": "ragengine.dev/v1alpha1", "kind": "RAGEngine", "name": "docs", "uid": "u"},
                ]}),
                Some("RAGEngine"),
            ),
            (
                json!({"ownerReferences": [{"apiVersion": "a/v1", "kind": "SealedSecret", "name": "s", "uid": "u"}]}),
                None,
            ),
        ] {
            let refused = refusal(&metadata(said.clone()));
            assert_eq!(refused.is_some(), expected.is_some(), "{said}");
            assert!(expected.is_none_or(|word| refused.unwrap().contains(word)), "{said}");
        }
    }

    #[test]
    fn a_secret_is_sent_only_to_the_hosts_that_it_names() {
        for (said, host, is_refused) in [
            (None, Some("anywhere"), false),
            (Some("llm.example"), Some("llm.example"), false),
            (Some("llm.example"), Some("LLM.example:8443"), false),
            (Some("llm.example:8443"), Some("llm.example:8443"), false),
            (Some("llm.example:8443"), Some("llm.example"), true),
            (Some("*.example"), Some("a.b.example"), false),
            (Some("*.example"), Some("example"), true),
            (Some("*.example"), Some("badexample"), true),
            (Some("llm.example"), Some("llm.example.evil"), true),
            (Some("llm.example"), None, true),
            (Some(""), Some("llm.example"), true),
        ] {
            let metadata = match said {
                None => ObjectMeta::default(),
                Some(said) => metadata(json!({"annotations": {"ragengine.dev/hosts": said}})),
            };
            assert_eq!(refused_at(&metadata, host).is_some(), is_refused, "{said:?} {host:?}");
        }
    }

    #[test]
    fn hosts_are_separated_by_commas() {
        for (said, expected) in [
            (json!({}), None),
            (json!({"annotations": {"ragengine.dev/hosts": "git.example.com, *.example.org,"}}), Some(2)),
            (json!({"annotations": {"ragengine.dev/hosts": ""}}), Some(0)),
        ] {
            assert_eq!(hosts(&metadata(said.clone())).map(|hosts| hosts.len()), expected, "{said}");
        }
    }
}

//! The permissions that the operator needs. The chart's roles are generated from them, and a test compares them with
//! the requests that are really made.

use k8s_openapi::api::rbac::v1::PolicyRule;
use serde::Serialize;

use crate::{api_server, gateway, karpenter};

/// The rules by namespace.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Permissions {
    /// For each watched namespace.
    pub watched: Vec<PolicyRule>,
    /// For the operator's own namespace.
    pub own: Vec<PolicyRule>,
    /// For the namespace of the API server's endpoints.
    pub api_server: Vec<PolicyRule>,
    /// For the whole cluster, if the operator makes nodes.
    pub nodes: Vec<PolicyRule>,
}

/// Verbs for some resources of one API group.
struct Rule {
    group: &'static str,
    resources: &'static [&'static str],
    verbs: &'static [&'static str],
}

/// Rules for watched namespaces. Applying an object that does not exist needs `create` in addition to `patch`; `get`
/// checks whether another client created it.
const WATCHED: &[Rule] = &[
    // `patch` sets and removes the finalizer of an engine with NodeClaims.
    Rule { group: "ragengine.dev", resources: &["ragengines"], verbs: &["list", "watch", "patch"] },
    Rule { group: "ragengine.dev", resources: &["ragengines/status"], verbs: &["patch"] },
    // `get` is the final check before the documents of a deleted Index are deleted. `patch` removes the finalizer of
    // earlier versions.
    Rule { group: "ragengine.dev", resources: &["indexes"], verbs: &["get", "list", "watch", "patch"] },
    Rule { group: "ragengine.dev", resources: &["indexes/status"], verbs: &["patch"] },
    Rule { group: "batch", resources: &["jobs"], verbs: &["list", "watch", "create", "delete"] },
    Rule { group: "batch", resources: &["cronjobs"], verbs: &["get", "list", "watch", "create", "patch", "delete"] },
    Rule { group: "apps", resources: &["deployments"], verbs: &["get", "list", "watch", "create", "patch"] },
    // Stops a server whose specification is invalid.
    Rule { group: "apps", resources: &["deployments/scale"], verbs: &["patch"] },
    // `delete` is for the ConfigMap of an engine that no longer has authentication.
    Rule { group: "", resources: &["configmaps"], verbs: &["get", "list", "watch", "create", "patch", "delete"] },
    // Without `delete`, no error of the operator deletes the indexes of an engine. With the admission plugin
    // OwnerReferencesPermissionEnforcement, a claim then keeps its owner: the status says what to do.
    Rule {
        group: "",
        resources: &["persistentvolumeclaims", "serviceaccounts", "services"],
        verbs: &["get", "list", "watch", "create", "patch"],
    },
    Rule {
        group: "networking.k8s.io",
        resources: &["networkpolicies", "ingresses"],
        verbs: &["get", "list", "watch", "create", "patch", "delete"],
    },
    Rule {
        group: "autoscaling",
        resources: &["horizontalpodautoscalers"],
        verbs: &["get", "list", "watch", "create", "patch", "delete"],
    },
    Rule {
        group: "policy",
        resources: &["poddisruptionbudgets"],
        verbs: &["get", "list", "watch", "create", "patch", "delete"],
    },
    // Only used in clusters with the Gateway API.
    Rule {
        group: gateway::GROUP,
        resources: &["httproutes"],
        verbs: &["get", "list", "watch", "create", "patch", "delete"],
    },
    // `create` is for the write token. Only metadata of Secrets is read.
    Rule { group: "", resources: &["secrets"], verbs: &["list", "watch", "create"] },
    Rule { group: "", resources: &["pods"], verbs: &["list", "watch"] },
    // Events explain why a pod or a claim is stuck.
    Rule { group: "", resources: &["events"], verbs: &["list"] },
    // A repeated event is patched.
    Rule { group: "events.k8s.io", resources: &["events"], verbs: &["create", "patch"] },
];

const OWN: &[Rule] =
    &[Rule { group: "coordination.k8s.io", resources: &["leases"], verbs: &["get", "create", "update"] }];

/// The addresses of the API server, which sources must not use.
const ENDPOINTS: Rule = Rule { group: "discovery.k8s.io", resources: &["endpointslices"], verbs: &["get"] };

/// NodeClaims are in no namespace, and never changed.
const NODES: &[Rule] =
    &[Rule { group: karpenter::GROUP, resources: &["nodeclaims"], verbs: &["list", "watch", "create", "delete"] }];

/// All rules.
pub fn permissions() -> Permissions {
    let endpoints =
        PolicyRule { resource_names: Some(vec![api_server::PLACE.1.to_owned()]), ..policy_rule(&ENDPOINTS) };
    Permissions {
        watched: WATCHED.iter().map(policy_rule).collect(),
        own: OWN.iter().map(policy_rule).collect(),
        api_server: vec![endpoints],
        nodes: NODES.iter().map(policy_rule).collect(),
    }
}

fn policy_rule(rule: &Rule) -> PolicyRule {
    let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    PolicyRule {
        api_groups: Some(owned(&[rule.group])),
        resources: Some(owned(rule.resources)),
        verbs: owned(rule.verbs),
        ..PolicyRule::default()
    }
}

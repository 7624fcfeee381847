//! What the operator has to be allowed to do. The chart's roles are generated from this, and a test compares it with what is really asked.

use k8s_openapi::api::rbac::v1::PolicyRule;
use serde::Serialize;

use crate::api_server;

/// The rules, by where they apply.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Permissions {
    /// In each namespace that is watched.
    pub watched: Vec<PolicyRule>,
    /// In the operator's own namespace.
    pub own: Vec<PolicyRule>,
    /// In the namespace of the API server's own endpoints.
    pub api_server: Vec<PolicyRule>,
}

/// Kinds of objects, and what is done with them.
struct Rule {
    group: &'static str,
    resources: &'static [&'static str],
    verbs: &'static [&'static str],
}

/// Applying an object that is not there yet takes `create` besides `patch`; `get` is for the look whether somebody else has made it.
const WATCHED: &[Rule] = &[
    Rule { group: "ragengine.dev", resources: &["ragengines"], verbs: &["list", "watch"] },
    Rule { group: "ragengine.dev", resources: &["ragengines/status"], verbs: &["patch"] },
    // `get` is for the last look before the documents of one that is gone are deleted; `patch` takes away the finalizer of earlier versions.
    Rule { group: "ragengine.dev", resources: &["indexes"], verbs: &["get", "list", "watch", "patch"] },
    Rule { group: "ragengine.dev", resources: &["indexes/status"], verbs: &["patch"] },
    Rule { group: "batch", resources: &["jobs"], verbs: &["list", "watch", "create", "delete"] },
    Rule { group: "apps", resources: &["deployments"], verbs: &["get", "list", "watch", "create", "patch"] },
    // A server whose specification cannot be built is stopped by this.
    Rule { group: "apps", resources: &["deployments/scale"], verbs: &["patch"] },
    Rule {
        group: "",
        resources: &["configmaps", "persistentvolumeclaims", "serviceaccounts", "services"],
        verbs: &["get", "list", "watch", "create", "patch"],
    },
    Rule {
        group: "networking.k8s.io",
        resources: &["networkpolicies"],
        verbs: &["get", "list", "watch", "create", "patch", "delete"],
    },
    // The write token is made; of all others only names and versions are read.
    Rule { group: "", resources: &["secrets"], verbs: &["list", "watch", "create"] },
    Rule { group: "", resources: &["pods"], verbs: &["list", "watch"] },
    // Why a pod or a claim does not get on.
    Rule { group: "", resources: &["events"], verbs: &["list"] },
    // An event that comes again is patched.
    Rule { group: "events.k8s.io", resources: &["events"], verbs: &["create", "patch"] },
];

const OWN: &[Rule] =
    &[Rule { group: "coordination.k8s.io", resources: &["leases"], verbs: &["get", "create", "update"] }];

/// Where the API server is: sources are kept from it.
const ENDPOINTS: Rule = Rule { group: "discovery.k8s.io", resources: &["endpointslices"], verbs: &["get"] };

/// All rules.
pub fn permissions() -> Permissions {
    let endpoints =
        PolicyRule { resource_names: Some(vec![api_server::PLACE.1.to_owned()]), ..policy_rule(&ENDPOINTS) };
    Permissions {
        watched: WATCHED.iter().map(policy_rule).collect(),
        own: OWN.iter().map(policy_rule).collect(),
        api_server: vec![endpoints],
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

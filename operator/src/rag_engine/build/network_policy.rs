use std::collections::BTreeMap;

use k8s_openapi::api::networking::v1::{
    NetworkPolicy, NetworkPolicyEgressRule, NetworkPolicyIngressRule, NetworkPolicyPeer, NetworkPolicyPort,
    NetworkPolicySpec,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use ragengine_operator_api as api;

use super::egress::{self, labels};
use super::selector;
use crate::defaults::Defaults;
use crate::names::{BACKUP, ENGINE, SYNC};
use crate::ports::{ADMIN_PORT_NAME, PORT, PORT_NAME};
use crate::rag_engine::monitoring::Monitoring;
use crate::rag_engine::validate::Validated;

/// The NetworkPolicy of the server, if the specification requests one.
pub(super) fn network_policy(
    validated: &Validated,
    monitoring: Monitoring,
    defaults: &Defaults,
) -> Option<NetworkPolicy> {
    let api::NetworkPolicy { from, egress, sync_egress: _ } = validated.spec.network_policy.as_ref()?;
    let mut peers: Vec<NetworkPolicyPeer> = from.iter().map(peer).collect();
    if peers.is_empty() {
        peers.push(NetworkPolicyPeer { pod_selector: Some(LabelSelector::default()), ..NetworkPolicyPeer::default() });
    }
    peers.push(pods(synchronisations()));
    peers.extend(validated.spec.backup.as_ref().map(|_| pods(backups(validated))));
    peers.push(operator(defaults));
    let port = |name: &str| NetworkPolicyPort {
        port: Some(IntOrString::String(name.to_owned())),
        protocol: Some("TCP".to_owned()),
        end_port: None,
    };
    let names = [PORT_NAME].into_iter().chain((monitoring == Monitoring::OwnListener).then_some(ADMIN_PORT_NAME));
    let rule = NetworkPolicyIngressRule { from: Some(peers), ports: Some(names.map(port).collect()) };
    Some(NetworkPolicy {
        metadata: validated.identity.owned(&validated.identity.name),
        spec: Some(NetworkPolicySpec {
            pod_selector: Some(selector(&validated.identity)),
            policy_types: Some(
                ["Ingress"].into_iter().chain(egress.as_ref().map(|_| "Egress")).map(str::to_owned).collect(),
            ),
            ingress: Some(vec![rule]),
            egress: egress.as_ref().map(egress::rules),
        }),
    })
}

/// The NetworkPolicy of the Jobs that write to the server, if the specification requests one.
pub(super) fn of_synchronisations(validated: &Validated) -> Option<NetworkPolicy> {
    let egress = validated.spec.network_policy.as_ref()?.sync_egress.as_ref()?;
    let identity = &validated.identity;
    let of_engine = (ENGINE.to_owned(), identity.name.clone());
    let jobs = synchronisations().into_iter().chain([of_engine]).collect();
    Some(NetworkPolicy {
        metadata: identity.owned(&identity.sync_policy()),
        spec: Some(NetworkPolicySpec {
            pod_selector: Some(selected(jobs)),
            policy_types: Some(vec!["Egress".to_owned()]),
            ingress: None,
            egress: Some([server(validated)].into_iter().chain(egress::rules(egress)).collect()),
        }),
    })
}

fn server(validated: &Validated) -> NetworkPolicyEgressRule {
    // Not every network plugin can resolve named ports of other pods.
    let port = NetworkPolicyPort {
        port: Some(IntOrString::Int(PORT.into())),
        protocol: Some("TCP".to_owned()),
        end_port: None,
    };
    NetworkPolicyEgressRule { to: Some(vec![pods(validated.identity.selector())]), ports: Some(vec![port]) }
}

fn peer(peer: &api::NetworkPeer) -> NetworkPolicyPeer {
    let (namespaces, pods) = (peer.namespace_selector.as_ref().map(labels), peer.pod_selector.as_ref().map(labels));
    NetworkPolicyPeer {
        // An empty peer is invalid. Without any selector it means the pods of the same namespace.
        pod_selector: pods.or_else(|| namespaces.is_none().then(LabelSelector::default)),
        namespace_selector: namespaces,
        ip_block: None,
    }
}

/// The labels of the Jobs of Indexes.
fn synchronisations() -> BTreeMap<String, String> {
    BTreeMap::from([("app.kubernetes.io/name".to_owned(), SYNC.to_owned())])
}

/// The labels of the pods of the engine's backups.
fn backups(validated: &Validated) -> BTreeMap<String, String> {
    let labels = [("app.kubernetes.io/name", BACKUP), ("app.kubernetes.io/instance", &validated.identity.name)];
    labels.map(|(label, value)| (label.to_owned(), value.to_owned())).into()
}

/// Pods of the same namespace.
fn pods(labels: BTreeMap<String, String>) -> NetworkPolicyPeer {
    NetworkPolicyPeer { pod_selector: Some(selected(labels)), ..NetworkPolicyPeer::default() }
}

fn selected(labels: BTreeMap<String, String>) -> LabelSelector {
    LabelSelector { match_labels: Some(labels), match_expressions: None }
}

/// The operator, which reads the server's status.
fn operator(defaults: &Defaults) -> NetworkPolicyPeer {
    let labels = |label: &str, value: &str| selected(BTreeMap::from([(label.to_owned(), value.to_owned())]));
    NetworkPolicyPeer {
        namespace_selector: Some(labels("kubernetes.io/metadata.name", &defaults.operator_namespace)),
        pod_selector: Some(labels("app.kubernetes.io/name", "ragengine-operator")),
        ip_block: None,
    }
}

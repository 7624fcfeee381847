use k8s_openapi::api::networking::v1::{IPBlock, NetworkPolicyEgressRule, NetworkPolicyPeer, NetworkPolicyPort};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use ragengine_operator_api as api;

/// The DNS ports of the pods behind the Service, which is where policies apply. OpenShift uses the second.
const DNS_PORTS: [i32; 2] = [53, 5353];

/// The allowed destinations: the cluster's DNS and the listed ones.
pub(super) fn rules(egress: &api::Egress) -> Vec<NetworkPolicyEgressRule> {
    [dns()].into_iter().chain(egress.to.iter().map(rule)).collect()
}

fn dns() -> NetworkPolicyEgressRule {
    let every_pod =
        NetworkPolicyPeer { namespace_selector: Some(LabelSelector::default()), ..NetworkPolicyPeer::default() };
    let ports = DNS_PORTS.iter().flat_map(|port| {
        ["UDP", "TCP"].map(|protocol| NetworkPolicyPort {
            port: Some(IntOrString::Int(*port)),
            protocol: Some(protocol.to_owned()),
            end_port: None,
        })
    });
    NetworkPolicyEgressRule { to: Some(vec![every_pod]), ports: Some(ports.collect()) }
}

fn rule(destination: &api::Destination) -> NetworkPolicyEgressRule {
    let api::Destination { namespace_selector, pod_selector, ip_block, ports } = destination;
    let peer = NetworkPolicyPeer {
        namespace_selector: namespace_selector.as_ref().map(labels),
        pod_selector: pod_selector.as_ref().map(labels),
        ip_block: ip_block.as_ref().map(addresses),
    };
    NetworkPolicyEgressRule {
        to: Some(vec![peer]),
        ports: (!ports.is_empty()).then(|| ports.iter().map(port).collect()),
    }
}

/// A selector of a NetworkPolicy. Without labels it selects everything.
pub(super) fn labels(selector: &api::LabelSelector) -> LabelSelector {
    LabelSelector {
        match_labels: (!selector.match_labels.is_empty()).then(|| selector.match_labels.clone()),
        match_expressions: None,
    }
}

fn addresses(block: &api::IpBlock) -> IPBlock {
    IPBlock { cidr: block.cidr.clone(), except: (!block.except.is_empty()).then(|| block.except.clone()) }
}

fn port(port: &api::DestinationPort) -> NetworkPolicyPort {
    let number = |port: u32| i32::try_from(port).unwrap_or(i32::MAX);
    NetworkPolicyPort {
        port: Some(IntOrString::Int(number(port.port))),
        end_port: port.end_port.map(number),
        protocol: Some(port.protocol.as_str().to_owned()),
    }
}

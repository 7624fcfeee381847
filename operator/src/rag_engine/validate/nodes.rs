//! Checks what a specification asks of the nodes that are made for it. Such a node costs money and belongs to the
//! cluster, and not to the namespace that asks for it.

use ragengine_operator_api::{Compute, RagEngine};

use crate::defaults::Defaults;
use crate::karpenter::PROPERTIES;
use crate::pod_parts::INSTANCE_TYPE;
use crate::rag_engine::nodes::is_held;

/// Labels of these domains, and of those within them, have a meaning for the cluster: they put pods onto a node, or take
/// it out of load balancers.
const CLUSTERS_DOMAINS: [&str; 3] = ["kubernetes.io", "k8s.io", "karpenter.sh"];

/// What is wrong, if the operator makes nodes for it. A number above the limit is no reason to leave an engine alone
/// that has nodes already: it keeps those, and gets no further ones.
pub(super) fn wrong(engine: &RagEngine, defaults: &Defaults) -> Vec<String> {
    let compute = engine.spec.compute.as_ref();
    let Some(compute) = compute.filter(|_| defaults.node_class.is_some()) else { return Vec::new() };
    let Some(instance_type) = &compute.instance_type else { return Vec::new() };
    let limits = &defaults.node_limits;
    let count = compute.count.filter(|count| *count > limits.most && !is_held(engine)).map(|count| {
        let most = limits.most;
        format!(
            "compute.count is {count}, and this operator makes at most {most} for an engine: write at most {most}, or \
             raise karpenter.maxNodes of the operator's chart"
        )
    });
    let is_allowed = limits.instance_types.is_empty() || limits.instance_types.contains(instance_type);
    let machine = (!is_allowed).then(|| {
        let allowed: Vec<_> = limits.instance_types.iter().map(String::as_str).collect();
        format!(
            "compute.instanceType {instance_type} is none that this operator makes nodes of: name one of {}, or add it to \
             karpenter.instanceTypes of the operator's chart",
            allowed.join(", ")
        )
    });
    count.into_iter().chain(machine).chain(wrong_labels(compute)).collect()
}

fn wrong_labels(compute: &Compute) -> impl Iterator<Item = String> {
    let labels = compute.label_selector.iter().flat_map(|selector| selector.match_labels.keys());
    // The machine type has its own field, and this label has no effect.
    let is_known = |label: &str| label == INSTANCE_TYPE || PROPERTIES.contains(&label);
    labels.filter(move |label| is_of_the_cluster(label) && !is_known(label)).map(|label| {
        format!(
            "compute.labelSelector.matchLabels: the label {label} cannot be given to the node that is made for \
             compute.instanceType, because it has a meaning for the cluster: remove it. Of the domains {}, only {} are \
             possible",
            CLUSTERS_DOMAINS.join(", "),
            PROPERTIES.join(", ")
        )
    })
}

fn is_of_the_cluster(label: &str) -> bool {
    let domain = label.split_once('/').map_or("", |(domain, _)| domain);
    CLUSTERS_DOMAINS.iter().any(|of| domain.strip_suffix(of).is_some_and(|rest| rest.is_empty() || rest.ends_with('.')))
}

#[cfg(test)]
mod tests {
    use super::is_of_the_cluster;

    #[test]
    fn a_domain_of_the_cluster_has_subdomains_and_no_look_alikes() {
        for (label, expected) in [
            ("kubernetes.io/hostname", true),
            ("node-role.kubernetes.io/control-plane", true),
            ("node.kubernetes.io/exclude-from-external-load-balancers", true),
            ("kops.k8s.io/instancegroup", true),
            ("karpenter.sh/nodepool", true),
            ("notkubernetes.io/a", false),
            ("kubernetes.io.example.com/a", false),
            ("example.com/kubernetes.io", false),
            ("kubernetes.io", false),
            ("disk", false),
        ] {
            assert_eq!(is_of_the_cluster(label), expected, "{label}");
        }
    }
}

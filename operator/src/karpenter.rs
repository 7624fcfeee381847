//! Karpenter, which makes the nodes for `compute.instanceType` where a cluster has it.

mod follow;
mod node_claim;
mod node_class;
mod orphans;

use kube::Client;

use crate::requests::within_limit;

pub(crate) use follow::follow;
pub use node_claim::{NodeClaim, NodeClaimCondition, NodeClaimStatus, is_alike};
pub use node_class::{NodeClass, NotANodeClass};

/// The API group.
pub const GROUP: &str = "karpenter.sh";
const VERSION: &str = "v1";
const API_VERSION: &str = "karpenter.sh/v1";
const KIND: &str = "NodeClaim";
const PLURAL: &str = "nodeclaims";
/// Labels that say what a machine is or where. A NodeClaim has to require them: other labels are given to the node.
pub const PROPERTIES: [&str; 5] = [
    "kubernetes.io/arch",
    "kubernetes.io/os",
    "karpenter.sh/capacity-type",
    "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone",
];

/// Asks whether the cluster has NodeClaims. The definition may be installed or deleted at any time, so the answer is not
/// kept.
///
/// # Errors
///
/// When the API server does not answer.
pub async fn is_served(client: &Client) -> Result<bool, kube::Error> {
    match within_limit(client.list_api_group_resources(API_VERSION)).await {
        Ok(found) => Ok(found.resources.iter().any(|resource| resource.kind == KIND)),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use axum::body::Body;
    use axum::http::{Request, Response};

    use super::*;

    /// A cluster that gives this answer to every request.
    fn cluster(code: u16, answer: &'static str) -> Client {
        let service = tower::service_fn(move |_: Request<kube::client::Body>| async move {
            Ok::<_, Infallible>(Response::builder().status(code).body(Body::from(answer)).unwrap())
        });
        Client::new(service, "default")
    }

    #[tokio::test]
    async fn only_a_clear_answer_counts() {
        let claims = r#"{"groupVersion": "karpenter.sh/v1", "resources": [
            {"name": "nodeclaims", "singularName": "nodeclaim", "namespaced": false, "kind": "NodeClaim", "verbs": []}
        ]}"#;
        let pools = r#"{"groupVersion": "karpenter.sh/v1", "resources": [
            {"name": "nodepools", "singularName": "nodepool", "namespaced": false, "kind": "NodePool", "verbs": []}
        ]}"#;
        let missing = r#"{"kind": "Status", "status": "Failure", "message": "m", "reason": "NotFound", "code": 404}"#;
        let broken = r#"{"kind": "Status", "status": "Failure", "message": "m", "reason": "Unknown", "code": 503}"#;
        for (code, answer, expected) in
            [(200, claims, Some(true)), (200, pools, Some(false)), (404, missing, Some(false)), (503, broken, None)]
        {
            assert_eq!(is_served(&cluster(code, answer)).await.ok(), expected, "{code} {answer}");
        }
    }
}

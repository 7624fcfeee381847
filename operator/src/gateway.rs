//! The Gateway API, which not every cluster has. Only the parts of an HTTPRoute that the operator writes.

use std::borrow::Cow;

use k8s_openapi::NamespaceResourceScope;
use kube::api::ObjectMeta;
use kube::{Client, Resource};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tracing::{info, warn};

use crate::requests::{is_answer, within_limit};

/// The API group.
pub const GROUP: &str = "gateway.networking.k8s.io";
const VERSION: &str = "v1";
const API_VERSION: &str = "gateway.networking.k8s.io/v1";
const KIND: &str = "HTTPRoute";
const PLURAL: &str = "httproutes";

/// Whether the cluster has HTTPRoutes. A watch of a kind that does not exist would fail again and again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Gateways {
    /// It has them.
    Present,
    /// It has none.
    #[default]
    Absent,
}

/// An HTTPRoute.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HttpRoute {
    #[serde(default = "api_version")]
    api_version: String,
    #[serde(default = "kind")]
    kind: String,
    /// Name, labels and owner.
    pub metadata: ObjectMeta,
    /// The specification, as the API defines it.
    #[serde(default)]
    pub spec: Value,
}

impl HttpRoute {
    /// A route with this specification.
    pub fn new(metadata: ObjectMeta, spec: Value) -> Self {
        Self { api_version: api_version(), kind: kind(), metadata, spec }
    }
}

fn api_version() -> String {
    API_VERSION.to_owned()
}

fn kind() -> String {
    KIND.to_owned()
}

impl Resource for HttpRoute {
    type DynamicType = ();
    type Scope = NamespaceResourceScope;

    fn kind((): &()) -> Cow<'_, str> {
        KIND.into()
    }

    fn group((): &()) -> Cow<'_, str> {
        GROUP.into()
    }

    fn version((): &()) -> Cow<'_, str> {
        VERSION.into()
    }

    fn plural((): &()) -> Cow<'_, str> {
        PLURAL.into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

/// Asks whether the cluster has HTTPRoutes.
///
/// # Errors
///
/// If the API server does not answer. A route that exists would stay when it is no longer wanted.
pub async fn gateways(client: &Client) -> Result<Gateways, kube::Error> {
    Ok(if has_http_routes(client).await? { Gateways::Present } else { Gateways::Absent })
}

async fn has_http_routes(client: &Client) -> Result<bool, kube::Error> {
    match within_limit(client.list_api_group_resources(API_VERSION)).await {
        Ok(found) => Ok(found.resources.iter().any(|resource| resource.kind == KIND)),
        Err(kube::Error::Api(status)) if status.code == 404 => {
            info!(group = GROUP, "the cluster has no Gateway API: httpRoute of a RAGEngine has no effect");
            Ok(false)
        }
        Err(error) if is_answer(&error) => {
            warn!(group = GROUP, %error, "the Gateway API cannot be read: httpRoute of a RAGEngine has no effect");
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use axum::body::Body;
    use axum::http::{Request, Response};
    use serde_json::json;

    use super::*;

    /// A cluster that gives this answer to every request.
    fn cluster(code: u16, answer: &'static str) -> Client {
        let service = tower::service_fn(move |_: Request<kube::client::Body>| async move {
            Ok::<_, Infallible>(Response::builder().status(code).body(Body::from(answer)).unwrap())
        });
        Client::new(service, "default")
    }

    #[tokio::test]
    async fn a_cluster_has_routes_if_its_gateway_api_has_them() {
        let routes = r#"{"groupVersion": "gateway.networking.k8s.io/v1", "resources": [
            {"name": "httproutes", "singularName": "httproute", "namespaced": true, "kind": "HTTPRoute", "verbs": []}
        ]}"#;
        let gateways = r#"{"groupVersion": "gateway.networking.k8s.io/v1", "resources": [
            {"name": "gateways", "singularName": "gateway", "namespaced": true, "kind": "Gateway", "verbs": []}
        ]}"#;
        let missing = r#"{"kind": "Status", "status": "Failure", "message": "m", "reason": "NotFound", "code": 404}"#;
        for (code, answer, expected) in
            [(200, routes, Some(true)), (200, gateways, Some(false)), (404, missing, Some(false)), (503, "{}", None)]
        {
            assert_eq!(has_http_routes(&cluster(code, answer)).await.ok(), expected, "{code} {answer}");
        }
    }

    #[test]
    fn a_route_has_its_kind_also_when_it_was_read_from_a_list() {
        let route: HttpRoute = serde_json::from_value(json!({"metadata": {"name": "a"}})).unwrap();
        let written = serde_json::to_value(&route).unwrap();
        assert_eq!((&written["apiVersion"], &written["kind"]), (&json!(API_VERSION), &json!(KIND)));
    }
}

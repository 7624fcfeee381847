//! Requests to the API server: observes each one, and limits how long it may take.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as Poller, Poll};
use std::time::Duration;

use axum::http::{Method, Request, Response, Uri};
use kube::client::Body;
use tower::{Layer, Service};

/// The timeout of a request that is not a watch.
const LIMIT: Duration = Duration::from_secs(20);

/// Whether an error is what the API server answers: not that it is busy, or cannot be asked.
pub fn is_answer(error: &kube::Error) -> bool {
    match error {
        kube::Error::Api(status) => (400..500).contains(&status.code) && !matches!(status.code, 408 | 429),
        _ => false,
    }
}

/// A request in terms of RBAC.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ApiRequest {
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete` or `deletecollection`.
    pub verb: &'static str,
    /// The API group. Empty for the core group.
    pub group: String,
    /// The resource, with its subresource if any: `ragengines/status`.
    pub resource: String,
}

impl ApiRequest {
    /// Parses a request. `None` if it is not about a resource.
    pub fn of(method: &Method, uri: &Uri) -> Option<Self> {
        let mut parts = uri.path().trim_matches('/').split('/');
        let group = match parts.next()? {
            "api" => String::new(),
            "apis" => parts.next()?.to_owned(),
            _ => return None,
        };
        let _version = parts.next()?;
        let mut rest: Vec<&str> = parts.collect();
        // A namespace itself has a path of only two parts.
        if rest.first() == Some(&"namespaces") && rest.len() > 2 {
            rest.drain(..2);
        }
        let (resource, has_name) = match rest[..] {
            [resource] => (resource.to_owned(), false),
            [resource, _] => (resource.to_owned(), true),
            [resource, _, subresource] => (format!("{resource}/{subresource}"), true),
            _ => return None,
        };
        let is_watch = uri.query().is_some_and(|query| query.split('&').any(|pair| pair == "watch=true"));
        let verb = match *method {
            Method::GET if is_watch => "watch",
            Method::GET if has_name => "get",
            Method::GET => "list",
            Method::POST => "create",
            Method::PUT => "update",
            Method::PATCH => "patch",
            Method::DELETE if has_name => "delete",
            Method::DELETE => "deletecollection",
            _ => return None,
        };
        Some(Self { verb, group, resource })
    }
}

/// Observes requests to the API server.
pub trait RequestObserver: Send + Sync + 'static {
    /// Called after each request, with the status of the reply or `None` if there was none.
    fn asked(&self, asked: &ApiRequest, status: Option<u16>);
}

/// A layer that reports every request of a client to an observer.
#[derive(Clone)]
pub struct ObservedRequests {
    observer: Arc<dyn RequestObserver>,
}

impl ObservedRequests {
    /// Creates the layer.
    pub fn new(observer: Arc<dyn RequestObserver>) -> Self {
        Self { observer }
    }
}

impl<S> Layer<S> for ObservedRequests {
    type Service = ObservedService<S>;

    fn layer(&self, inner: S) -> Self::Service {
        ObservedService { inner, observer: Arc::clone(&self.observer) }
    }
}

/// See [`ObservedRequests`].
#[derive(Clone)]
pub struct ObservedService<S> {
    inner: S,
    observer: Arc<dyn RequestObserver>,
}

impl<S, B> Service<Request<Body>> for ObservedService<S>
where
    S: Service<Request<Body>, Response = Response<B>>,
    S::Future: Send + 'static,
    S::Error: Send,
    B: Send,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, poller: &mut Poller<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(poller)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let asked = ApiRequest::of(request.method(), request.uri());
        let observer = Arc::clone(&self.observer);
        let reply = self.inner.call(request);
        Box::pin(async move {
            let reply = reply.await;
            if let Some(asked) = asked {
                observer.asked(&asked, reply.as_ref().ok().map(|reply| reply.status().as_u16()));
            }
            reply
        })
    }
}

/// Runs a request with a timeout.
///
/// # Errors
///
/// The error of the API server, or a timeout.
pub async fn within_limit<T>(request: impl Future<Output = Result<T, kube::Error>>) -> Result<T, kube::Error> {
    match tokio::time::timeout(LIMIT, request).await {
        Ok(outcome) => outcome,
        Err(_) => {
            Err(kube::Error::Service(format!("the API server did not answer within {} s", LIMIT.as_secs()).into()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_parsed_into_rbac_terms() {
        for (method, uri, expected) in [
            (Method::GET, "/api/v1/secrets?watch=true&limit=5", Some(("watch", "", "secrets"))),
            (Method::GET, "/api/v1/namespaces/a/secrets?limit=5", Some(("list", "", "secrets"))),
            (Method::GET, "/apis/apps/v1/namespaces/a/deployments/d", Some(("get", "apps", "deployments"))),
            (
                Method::PATCH,
                "/apis/apps/v1/namespaces/a/deployments/d?force=true",
                Some(("patch", "apps", "deployments")),
            ),
            (
                Method::PATCH,
                "/apis/ragengine.dev/v1alpha1/namespaces/a/ragengines/e/status",
                Some(("patch", "ragengine.dev", "ragengines/status")),
            ),
            (Method::POST, "/api/v1/namespaces/a/secrets", Some(("create", "", "secrets"))),
            (Method::DELETE, "/api/v1/namespaces/a/secrets/s", Some(("delete", "", "secrets"))),
            (Method::DELETE, "/api/v1/namespaces/a/secrets", Some(("deletecollection", "", "secrets"))),
            (
                Method::PUT,
                "/apis/coordination.k8s.io/v1/namespaces/a/leases/l",
                Some(("update", "coordination.k8s.io", "leases")),
            ),
            (Method::GET, "/api/v1/namespaces/a", Some(("get", "", "namespaces"))),
            (Method::GET, "/version", None),
        ] {
            let asked = ApiRequest::of(&method, &uri.parse().unwrap());
            let expected = expected.map(|(verb, group, resource)| ApiRequest {
                verb,
                group: group.into(),
                resource: resource.into(),
            });
            assert_eq!(asked, expected, "{method} {uri}");
        }
    }
}

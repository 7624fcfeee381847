//! An in-memory API server. It stores applied objects like a real one, sends watch events, and fails on request.

mod apply;
mod calls;
mod ownership;
mod state;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, Response, header};
use futures_util::{StreamExt as _, stream};
use http_body_util::BodyExt as _;
use kube::Client;
use parking_lot::Mutex;
use ragengine_operator::permissions::{Permissions, permissions};
use ragengine_operator::requests::ApiRequest;
use serde_json::{Value, json};
use tokio::sync::mpsc;

pub use calls::{Call, Fault, Karpenter};
use ownership::{Operation, Writer};
use state::{ObjectKey, State, Watch};

/// The server. Clones share one state.
#[derive(Clone, Default)]
pub struct ApiServer(Arc<Mutex<State>>);

/// Watches that receive no events until they are released.
pub struct HeldWatches {
    watches: Vec<Watch>,
    since: u64,
}

/// A parsed request.
struct ParsedRequest {
    api_request: ApiRequest,
    key: ObjectKey,
    query: Vec<(String, String)>,
    body: Value,
    is_merge: bool,
    is_metadata_only: bool,
}

/// A reply: an HTTP status with a JSON body, or a stream of watch events.
enum Reply {
    Json(u16, Value),
    Stream(mpsc::UnboundedReceiver<String>),
}

impl ApiServer {
    /// A client whose requests this server answers.
    pub fn client(&self) -> Client {
        let server = self.clone();
        let service = tower::service_fn(move |request: Request<kube::client::Body>| {
            let server = server.clone();
            async move { Ok::<_, Infallible>(server.answer(request).await) }
        });
        Client::new(service, "default")
    }

    async fn answer(&self, request: Request<kube::client::Body>) -> Response<Body> {
        if request.uri().path() == "/apis/karpenter.sh/v1" {
            return self.discovered();
        }
        let request = parse_request(request).await;
        let api_request = &request.api_request;
        assert!(is_permitted(api_request), "the chart does not grant {api_request:?}");
        let fault = self.0.lock().fault(api_request);
        match &fault {
            Some(Fault::Silence) => {
                self.record_call(&request, None);
                std::future::pending::<()>().await;
            }
            Some(Fault::Refusal(code, message)) => {
                self.record_call(&request, Some(*code));
                return json_response(*code, &status(*code, message));
            }
            Some(Fault::Garbage | Fault::Late(_)) | None => {}
        }
        let reply = self.0.lock().handle(&request);
        match (&fault, reply) {
            (_, Reply::Stream(events)) => {
                self.record_call(&request, Some(200));
                let events = stream::unfold(events, |mut events| async move { Some((events.recv().await?, events)) });
                Response::new(Body::from_stream(events.map(Ok::<_, Infallible>)))
            }
            (fault, Reply::Json(code, value)) => {
                self.record_call(&request, Some(code));
                if let Some(Fault::Late(delay)) = fault {
                    tokio::time::sleep(*delay).await;
                }
                match fault {
                    Some(Fault::Garbage) => Response::new(Body::from("<html>")),
                    _ => json_response(code, &value),
                }
            }
        }
    }

    /// What a cluster says about the API of Karpenter.
    fn discovered(&self) -> Response<Body> {
        let claims =
            json!({"name": "nodeclaims", "singularName": "", "namespaced": false, "kind": "NodeClaim", "verbs": []});
        let found = json!({"groupVersion": "karpenter.sh/v1", "resources": [claims]});
        match self.0.lock().karpenter {
            Karpenter::Absent => json_response(404, &status(404, "not found")),
            Karpenter::Present => json_response(200, &found),
            Karpenter::Silent => json_response(503, &status(503, "not now")),
        }
    }

    /// Installs Karpenter's definitions, deletes them with all NodeClaims, or makes the API server say neither.
    pub fn has_karpenter(&self, karpenter: Karpenter) {
        let mut state = self.0.lock();
        state.karpenter = karpenter;
        if karpenter == Karpenter::Absent {
            state.objects.retain(|key, _| key.resource != "nodeclaims");
            state.watches.retain(|watch| watch.resource != "nodeclaims");
        }
    }

    fn record_call(&self, request: &ParsedRequest, status: Option<u16>) {
        let ApiRequest { verb, resource, .. } = &request.api_request;
        let name = request.key.name.clone();
        self.0.lock().calls.push(Call { verb, resource: resource.clone(), name, status });
    }

    /// Makes the next `times` requests with this verb and resource fail.
    pub fn fail(&self, verb: &'static str, resource: &str, times: usize, fault: Fault) {
        self.0.lock().faults.push((verb, resource.to_owned(), times, fault));
    }

    /// Removes all faults: every request is answered from now on.
    pub fn recover(&self) {
        self.0.lock().faults.clear();
    }

    /// The requests since the last call of this function, without the `list` and `watch` requests of watches.
    pub fn calls(&self) -> Vec<Call> {
        let calls = std::mem::take(&mut self.0.lock().calls);
        calls.into_iter().filter(|call| !["list", "watch"].contains(&call.verb)).collect()
    }

    /// The number of `list` requests for a resource since the last call of [`Self::calls`].
    pub fn lists(&self, resource: &str) -> usize {
        let state = self.0.lock();
        state.calls.iter().filter(|call| call.verb == "list" && call.resource == resource).count()
    }

    /// The number of open watches of a resource.
    pub fn watches(&self, resource: &str) -> usize {
        self.0.lock().watches(resource)
    }

    /// Creates or replaces an object as a user would.
    pub fn put(&self, resource: &str, object: Value) {
        self.0.lock().put(resource, object);
    }

    /// Changes an object as a user would. Panics if it does not exist.
    pub fn edit(&self, resource: &str, name: &str, edit: impl FnOnce(&mut Value)) {
        let mut object = self.get(resource, name).unwrap_or_else(|| panic!("no {resource} {name}"));
        edit(&mut object);
        self.put(resource, object);
    }

    /// Deletes an object as a user would. Panics if it does not exist.
    pub fn delete(&self, resource: &str, name: &str) {
        let key = ObjectKey::of(resource, name);
        assert!(self.0.lock().delete(&key), "no {resource} {name}");
    }

    /// The stored object, if there is one.
    pub fn get(&self, resource: &str, name: &str) -> Option<Value> {
        self.0.lock().objects.get(&ObjectKey::of(resource, name)).cloned()
    }

    /// The names of the stored objects of a resource.
    pub fn names(&self, resource: &str) -> Vec<String> {
        let state = self.0.lock();
        let of_kind = state.objects.keys().filter(|key| key.resource == resource);
        of_kind.map(|key| key.name.clone()).collect()
    }

    /// Ends the watches of a resource, as a broken connection does.
    pub fn break_watches(&self, resource: &str) {
        self.0.lock().watches.retain(|watch| watch.resource != resource);
    }

    /// Holds back the events of a resource until [`Self::release_watches`].
    pub fn hold_watches(&self, resource: &str) -> HeldWatches {
        let mut state = self.0.lock();
        HeldWatches { watches: state.take_watches(resource), since: state.version }
    }

    /// Sends the missed events and resumes the watches.
    pub fn release_watches(&self, held: HeldWatches) {
        self.0.lock().resume(held.watches, held.since);
    }

    /// Expires the watches of a resource with a 410. They get no events for the changes that `change` makes.
    pub fn expire_watches(&self, resource: &str, change: impl FnOnce(&Self)) {
        let expired: Vec<Watch> = self.0.lock().take_watches(resource);
        change(self);
        self.0.lock().forget_events();
        for watch in expired {
            watch.send("ERROR", &status(410, "too old resource version"));
        }
    }
}

/// Whether the chart's roles, which are generated from `permissions()`, allow a request.
fn is_permitted(request: &ApiRequest) -> bool {
    let Permissions { watched, own, api_server, nodes } = permissions();
    let has = |list: &Option<Vec<String>>, item: &str| list.iter().flatten().any(|found| found == item);
    watched.iter().chain(&own).chain(&api_server).chain(&nodes).any(|rule| {
        has(&rule.api_groups, &request.group)
            && has(&rule.resources, &request.resource)
            && rule.verbs.iter().any(|verb| verb == request.verb)
    })
}

async fn parse_request(request: Request<kube::client::Body>) -> ParsedRequest {
    let (head, body) = request.into_parts();
    let api_request = ApiRequest::of(&head.method, &head.uri).unwrap();
    let parts: Vec<&str> = head.uri.path().trim_matches('/').split('/').collect();
    let plural = api_request.resource.split('/').next().unwrap_or_default();
    let segment_after = |word: &str| {
        let at = parts.iter().position(|part| *part == word)?;
        parts.get(at + 1).map(|part| (*part).to_owned())
    };
    let key = ObjectKey {
        resource: plural.to_owned(),
        namespace: segment_after("namespaces").unwrap_or_default(),
        name: segment_after(plural).unwrap_or_default(),
    };
    let pair = |pair: &str| pair.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
    let query = head.uri.query().unwrap_or_default().split('&').filter_map(pair).collect();
    let accept = head.headers.get(header::ACCEPT);
    let is_merge = head.headers.get(header::CONTENT_TYPE).is_some_and(|kind| kind == "application/merge-patch+json");
    let body = body.collect().await.unwrap().to_bytes();
    ParsedRequest {
        is_metadata_only: accept.is_some_and(|accept| accept.to_str().unwrap().contains("as=PartialObjectMetadata")),
        is_merge,
        body: serde_json::from_slice(&body).unwrap_or_default(),
        api_request,
        key,
        query,
    }
}

impl ParsedRequest {
    /// The owner of the fields that this request writes.
    fn writer(&self) -> Writer {
        let is_apply = self.api_request.verb == "patch" && !self.is_merge;
        Writer {
            operation: if is_apply { Operation::Apply } else { Operation::Update },
            manager: self.parameter("fieldManager").unwrap_or("unknown").to_owned(),
            subresource: self.api_request.resource.split_once('/').map(|(_, sub)| sub.to_owned()).unwrap_or_default(),
        }
    }

    fn parameter(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }
}

fn json_response(code: u16, value: &Value) -> Response<Body> {
    Response::builder().status(code).body(Body::from(value.to_string())).unwrap()
}

/// A Kubernetes `Status` object for a failed request.
pub fn status(code: u16, message: &str) -> Value {
    let reason = match code {
        403 => "Forbidden",
        404 => "NotFound",
        409 => "Conflict",
        410 => "Expired",
        422 => "Invalid",
        429 => "TooManyRequests",
        _ => "InternalError",
    };
    json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": message, "reason": reason, "code": code,
    })
}

/// Lets tasks run for this long on the paused clock, which costs no real time.
pub async fn pass(time: Duration) {
    tokio::time::sleep(time).await;
}

//! An API server in memory: it keeps what is applied as a real one does, tells watches of it, and fails when it is told to.

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

pub use calls::{Call, Fault};
use ownership::{Operation, Writer};
use state::{Place, State, Watch};

/// The server; a copy is the same one.
#[derive(Clone, Default)]
pub struct ApiServer(Arc<Mutex<State>>);

/// Watches that are told nothing.
pub struct Held {
    watches: Vec<Watch>,
    since: u64,
}

/// A request, taken apart.
struct Question {
    asked: ApiRequest,
    place: Place,
    query: Vec<(String, String)>,
    body: Value,
    is_merge: bool,
    is_metadata_only: bool,
}

/// A reply: its status and its text, or a stream of texts.
enum Reply {
    Whole(u16, Value),
    Stream(mpsc::UnboundedReceiver<String>),
}

impl ApiServer {
    /// A client of it.
    pub fn client(&self) -> Client {
        let server = self.clone();
        let service = tower::service_fn(move |request: Request<kube::client::Body>| {
            let server = server.clone();
            async move { Ok::<_, Infallible>(server.answer(request).await) }
        });
        Client::new(service, "default")
    }

    async fn answer(&self, request: Request<kube::client::Body>) -> Response<Body> {
        let question = question(request).await;
        assert!(is_permitted(&question.asked), "the chart grants no {:?}", question.asked);
        let fault = self.0.lock().fault(&question.asked);
        match &fault {
            Some(Fault::Silence) => {
                self.note(&question, None);
                std::future::pending::<()>().await;
            }
            Some(Fault::Refusal(code, message)) => {
                self.note(&question, Some(*code));
                return whole(*code, &status(*code, message));
            }
            Some(Fault::Garbage | Fault::Late(_)) | None => {}
        }
        let reply = self.0.lock().act(&question);
        match (&fault, reply) {
            (_, Reply::Stream(events)) => {
                self.note(&question, Some(200));
                let events = stream::unfold(events, |mut events| async move { Some((events.recv().await?, events)) });
                Response::new(Body::from_stream(events.map(Ok::<_, Infallible>)))
            }
            (fault, Reply::Whole(code, value)) => {
                self.note(&question, Some(code));
                if let Some(Fault::Late(delay)) = fault {
                    tokio::time::sleep(*delay).await;
                }
                match fault {
                    Some(Fault::Garbage) => Response::new(Body::from("<html>")),
                    _ => whole(code, &value),
                }
            }
        }
    }

    fn note(&self, question: &Question, status: Option<u16>) {
        let ApiRequest { verb, resource, .. } = &question.asked;
        let name = question.place.name.clone();
        self.0.lock().calls.push(Call { verb, resource: resource.clone(), name, status });
    }

    /// The next requests of this kind go wrong, `times` times.
    pub fn fail(&self, verb: &'static str, resource: &str, times: usize, fault: Fault) {
        self.0.lock().faults.push((verb, resource.to_owned(), times, fault));
    }

    /// From now on everything is answered.
    pub fn recover(&self) {
        self.0.lock().faults.clear();
    }

    /// The requests since this was asked last, without those that every watch begins with.
    pub fn calls(&self) -> Vec<Call> {
        let calls = std::mem::take(&mut self.0.lock().calls);
        calls.into_iter().filter(|call| !["list", "watch"].contains(&call.verb)).collect()
    }

    /// How many lists of a kind were asked for since `calls` was asked last.
    pub fn lists(&self, resource: &str) -> usize {
        let state = self.0.lock();
        state.calls.iter().filter(|call| call.verb == "list" && call.resource == resource).count()
    }

    /// How many watches of a kind there are now.
    pub fn watches(&self, resource: &str) -> usize {
        self.0.lock().watches(resource)
    }

    /// Somebody makes or changes an object.
    pub fn put(&self, resource: &str, object: Value) {
        self.0.lock().put(resource, object);
    }

    /// Somebody changes a field.
    pub fn edit(&self, resource: &str, name: &str, edit: impl FnOnce(&mut Value)) {
        let mut object = self.get(resource, name).unwrap_or_else(|| panic!("no {resource} {name}"));
        edit(&mut object);
        self.put(resource, object);
    }

    /// Somebody deletes an object.
    pub fn delete(&self, resource: &str, name: &str) {
        let place = Place::of(resource, name);
        assert!(self.0.lock().delete(&place), "no {resource} {name}");
    }

    /// An object as it is kept.
    pub fn get(&self, resource: &str, name: &str) -> Option<Value> {
        self.0.lock().objects.get(&Place::of(resource, name)).cloned()
    }

    /// The names of the objects of a kind.
    pub fn names(&self, resource: &str) -> Vec<String> {
        let state = self.0.lock();
        let of_kind = state.objects.keys().filter(|place| place.resource == resource);
        of_kind.map(|place| place.name.clone()).collect()
    }

    /// The watches of a kind end, as they do when a connection breaks.
    pub fn break_watches(&self, resource: &str) {
        self.0.lock().watches.retain(|watch| watch.resource != resource);
    }

    /// From now on the watches of a kind are told nothing.
    pub fn hold_watches(&self, resource: &str) -> Held {
        let mut state = self.0.lock();
        Held { watches: state.take_watches(resource), since: state.version }
    }

    /// They are told everything that they have missed.
    pub fn release_watches(&self, held: Held) {
        self.0.lock().resume(held.watches, held.since);
    }

    /// The watches of a kind are told that they are too old. What happens in `meanwhile` they are not told of.
    pub fn expire_watches(&self, resource: &str, meanwhile: impl FnOnce(&Self)) {
        let expired: Vec<Watch> = self.0.lock().take_watches(resource);
        meanwhile(self);
        self.0.lock().forget_events();
        for watch in expired {
            watch.tell("ERROR", &status(410, "too old resource version"));
        }
    }
}

/// Whether the roles of the chart, which are made of this, allow a request.
fn is_permitted(asked: &ApiRequest) -> bool {
    let Permissions { watched, own, api_server } = permissions();
    let has = |list: &Option<Vec<String>>, wanted: &str| list.iter().flatten().any(|found| found == wanted);
    watched.iter().chain(&own).chain(&api_server).any(|rule| {
        has(&rule.api_groups, &asked.group)
            && has(&rule.resources, &asked.resource)
            && rule.verbs.iter().any(|verb| verb == asked.verb)
    })
}

async fn question(request: Request<kube::client::Body>) -> Question {
    let (head, body) = request.into_parts();
    let asked = ApiRequest::of(&head.method, &head.uri).unwrap();
    let parts: Vec<&str> = head.uri.path().trim_matches('/').split('/').collect();
    let plural = asked.resource.split('/').next().unwrap_or_default();
    let behind = |word: &str| {
        let at = parts.iter().position(|part| *part == word)?;
        parts.get(at + 1).map(|part| (*part).to_owned())
    };
    let place = Place {
        resource: plural.to_owned(),
        namespace: behind("namespaces").unwrap_or_default(),
        name: behind(plural).unwrap_or_default(),
    };
    let pair = |pair: &str| pair.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
    let query = head.uri.query().unwrap_or_default().split('&').filter_map(pair).collect();
    let accept = head.headers.get(header::ACCEPT);
    let is_merge = head.headers.get(header::CONTENT_TYPE).is_some_and(|kind| kind == "application/merge-patch+json");
    let body = body.collect().await.unwrap().to_bytes();
    Question {
        is_metadata_only: accept.is_some_and(|accept| accept.to_str().unwrap().contains("as=PartialObjectMetadata")),
        is_merge,
        body: serde_json::from_slice(&body).unwrap_or_default(),
        asked,
        place,
        query,
    }
}

impl Question {
    /// In whose name it writes.
    fn writer(&self) -> Writer {
        let is_apply = self.asked.verb == "patch" && !self.is_merge;
        Writer {
            operation: if is_apply { Operation::Apply } else { Operation::Update },
            manager: self.parameter("fieldManager").unwrap_or("unknown").to_owned(),
            subresource: self.asked.resource.split_once('/').map(|(_, sub)| sub.to_owned()).unwrap_or_default(),
        }
    }

    fn parameter(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }
}

fn whole(code: u16, value: &Value) -> Response<Body> {
    Response::builder().status(code).body(Body::from(value.to_string())).unwrap()
}

/// A refusal in the words of Kubernetes.
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
    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message, "reason": reason, "code": code})
}

/// A moment in which whatever is ready goes on: the clock is paused, so nobody waits.
pub async fn pass(time: Duration) {
    tokio::time::sleep(time).await;
}

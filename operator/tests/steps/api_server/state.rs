use std::collections::BTreeMap;

use ragengine_operator::requests::ApiRequest;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::apply::{canonical, run_deployment_controller, set_defaults, validation_error};
use super::ownership::{self, Owners, Writer};
use super::{Call, Fault, Karpenter, ParsedRequest, Reply, status};

/// The resource, namespace and name of an object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectKey {
    pub resource: String,
    pub namespace: String,
    pub name: String,
}

impl ObjectKey {
    /// The key of an object in the namespace of the tests.
    pub fn of(resource: &str, name: &str) -> Self {
        // NodeClaims are in no namespace.
        let namespace = if resource == "nodeclaims" { "" } else { "tests" };
        Self { resource: resource.to_owned(), namespace: namespace.to_owned(), name: name.to_owned() }
    }
}

/// A label, and its value if it must have one.
type Selector = (String, Option<String>);

pub struct Watch {
    pub resource: String,
    selector: Option<Selector>,
    is_metadata_only: bool,
    events: mpsc::UnboundedSender<String>,
}

impl Watch {
    pub fn send(&self, kind: &str, object: &Value) {
        let shown = if self.is_metadata_only && kind != "ERROR" { metadata_of(object) } else { object.clone() };
        // Sending fails when the client has ended the watch.
        drop(self.events.send(format!("{}\n", json!({"type": kind, "object": shown}))));
    }

    fn matches(&self, resource: &str, object: &Value) -> bool {
        self.resource == resource && is_selected(self.selector.as_ref(), object)
    }
}

/// The server's state.
#[derive(Default)]
pub struct State {
    pub objects: BTreeMap<ObjectKey, Value>,
    pub faults: Vec<(&'static str, String, usize, Fault)>,
    pub calls: Vec<Call>,
    pub watches: Vec<Watch>,
    pub version: u64,
    pub karpenter: Karpenter,
    /// Past events, for watches that begin later: version, event type, resource, object.
    events: Vec<(u64, &'static str, String, Value)>,
}

impl State {
    /// The fault for this request, if one is set. Uses it up once.
    pub fn fault(&mut self, request: &ApiRequest) -> Option<Fault> {
        let (_, _, times, fault) = self
            .faults
            .iter_mut()
            .find(|(verb, resource, times, _)| *times > 0 && *verb == request.verb && *resource == request.resource)?;
        *times -= 1;
        Some(fault.clone())
    }

    pub fn handle(&mut self, request: &ParsedRequest) -> Reply {
        let missing = || Reply::Json(404, status(404, "not found"));
        let ParsedRequest { api_request, key, body, .. } = request;
        if key.resource == "nodeclaims" && self.karpenter == Karpenter::Absent {
            return missing();
        }
        match (api_request.verb, api_request.resource.as_str()) {
            ("list", _) => self.list(request),
            ("watch", _) => self.watch(request),
            ("get", _) => self.objects.get(key).map_or_else(missing, |found| Reply::Json(200, found.clone())),
            ("create", "events") => Reply::Json(201, body.clone()),
            ("create", _) => self.create(request),
            ("update", _) => self.update(request),
            ("patch", "events") => Reply::Json(200, body.clone()),
            ("patch", _) if request.is_merge => self.merge(request),
            ("patch", _) => self.apply(request),
            ("delete", _) if self.delete(key) => Reply::Json(200, json!({"kind": "Status", "status": "Success"})),
            ("delete", _) => missing(),
            (verb, resource) => panic!("{verb} {resource}"),
        }
    }

    fn list(&mut self, request: &ParsedRequest) -> Reply {
        let selector = selector(request);
        let of_kind = self.objects.iter().filter(|(key, _)| key.resource == request.key.resource);
        let items: Vec<Value> = of_kind
            .filter(|(_, object)| is_selected(selector.as_ref(), object))
            .map(|(_, object)| if request.is_metadata_only { metadata_of(object) } else { object.clone() })
            .collect();
        assert!(
            request.is_metadata_only || request.key.resource != "secrets",
            "the operator must read only the metadata of Secrets"
        );
        Reply::Json(200, json!({"metadata": {"resourceVersion": self.version.to_string()}, "items": items}))
    }

    fn watch(&mut self, request: &ParsedRequest) -> Reply {
        let (sender, receiver) = mpsc::unbounded_channel();
        let resource = request.key.resource.clone();
        let ParsedRequest { is_metadata_only, .. } = *request;
        let watch = Watch { selector: selector(request), resource, is_metadata_only, events: sender };
        let since: u64 = request.parameter("resourceVersion").and_then(|version| version.parse().ok()).unwrap_or(0);
        self.resume(vec![watch], since);
        Reply::Stream(receiver)
    }

    /// Sends these watches the events since `since`, and registers them for later events.
    pub fn resume(&mut self, watches: Vec<Watch>, since: u64) {
        for watch in &watches {
            let missed = self
                .events
                .iter()
                .filter(|(version, _, resource, object)| *version > since && watch.matches(resource, object));
            missed.for_each(|(_, kind, _, object)| watch.send(kind, object));
        }
        self.watches.extend(watches);
    }

    fn create(&mut self, request: &ParsedRequest) -> Reply {
        let name = request.body["metadata"]["name"].as_str().unwrap().to_owned();
        let key = ObjectKey { name, ..request.key.clone() };
        if self.objects.contains_key(&key) {
            return Reply::Json(409, status(409, "already exists"));
        }
        Reply::Json(201, self.replace(key, request.body.clone(), &request.writer()))
    }

    fn update(&mut self, request: &ParsedRequest) -> Reply {
        let ParsedRequest { key, body, .. } = request;
        let Some(found) = self.objects.get(key) else { return Reply::Json(404, status(404, "not found")) };
        if found["metadata"]["resourceVersion"] != body["metadata"]["resourceVersion"] {
            return Reply::Json(409, status(409, "the object has been modified"));
        }
        Reply::Json(200, self.replace(key.clone(), body.clone(), &request.writer()))
    }

    /// Server-side apply. Creates an object, but not a status. A uid in the body is a precondition.
    fn apply(&mut self, request: &ParsedRequest) -> Reply {
        let ParsedRequest { key, body, .. } = request;
        let (writer, live) = (request.writer(), self.objects.get(key).unwrap_or(&Value::Null));
        if live.is_null() && !writer.subresource.is_empty() {
            return Reply::Json(404, status(404, "not found"));
        }
        if !live.is_null() && body["metadata"].get("uid").is_some_and(|said| *said != live["metadata"]["uid"]) {
            return Reply::Json(409, status(409, "the uid in the precondition is another one"));
        }
        let (code, is_forced) = (if live.is_null() { 201 } else { 200 }, request.parameter("force") == Some("true"));
        let (object, owners) = match ownership::apply(live, body, &writer, is_forced, &self.now()) {
            Ok(applied) => applied,
            Err(others) => return Reply::Json(409, status(409, &format!("conflicts with {}", others.join(", ")))),
        };
        let object = if writer.subresource.is_empty() { canonical(&object) } else { object };
        match validation_error(&key.resource, &object) {
            Some(message) => Reply::Json(422, status(422, &message)),
            None => Reply::Json(code, self.store(key.clone(), object, |_, _| owners)),
        }
    }

    /// Applies a merge patch. A uid or resourceVersion in the body is a precondition.
    fn merge(&mut self, request: &ParsedRequest) -> Reply {
        let ParsedRequest { key, body, .. } = request;
        let Some(found) = self.objects.get(key) else { return Reply::Json(404, status(404, "not found")) };
        let has_other = |name: &str| body["metadata"].get(name).is_some_and(|said| *said != found["metadata"][name]);
        if has_other("uid") || has_other("resourceVersion") {
            return Reply::Json(409, status(409, "the object has been modified"));
        }
        let mut object = found.clone();
        merge(&mut object, body);
        let is_gone = object["metadata"]["deletionTimestamp"].is_string() && has_no_finalizers(&object);
        let object = self.replace(key.clone(), object, &request.writer());
        if is_gone {
            self.delete(key);
        }
        Reply::Json(200, object)
    }

    /// Stores an object that replaces the current one.
    fn replace(&mut self, key: ObjectKey, object: Value, writer: &Writer) -> Value {
        let now = self.now();
        self.store(key, object, |live, new| {
            let said = if new["metadata"]["managedFields"].is_null() { live } else { new };
            Owners::of(said).after_update(writer, live, new, &now)
        })
    }

    /// Stores an object with the fields that the server sets. An unchanged object gets no new version and no event.
    fn store(&mut self, key: ObjectKey, mut object: Value, owners: impl FnOnce(&Value, &Value) -> Owners) -> Value {
        let before = self.objects.get(&key).unwrap_or(&Value::Null);
        let (kind, metadata) = (if before.is_null() { "ADDED" } else { "MODIFIED" }, &before["metadata"]);
        let number = self.version + 1;
        let kept = |name: &str, new: Value| if metadata[name].is_null() { new } else { metadata[name].clone() };
        let added = [
            ("uid", kept("uid", json!(format!("uid-{number}")))),
            ("creationTimestamp", kept("creationTimestamp", json!("2026-11-22T09:00:00Z"))),
            ("resourceVersion", kept("resourceVersion", json!("0"))),
        ];
        for (name, value) in added {
            object["metadata"][name] = value;
        }
        if !key.namespace.is_empty() {
            object["metadata"]["namespace"] = json!(key.namespace);
        }
        set_defaults(&key.resource, &mut object);
        let is_changed = before["spec"] != object["spec"] || before.is_null();
        let generation = metadata["generation"].as_i64().unwrap_or(0) + i64::from(is_changed);
        object["metadata"]["generation"] = json!(generation);
        object["metadata"]["managedFields"] = owners(before, &object).entries();
        if key.resource == "deployments" {
            run_deployment_controller(&mut object);
        }
        if *before == object {
            return object;
        }
        self.version = number;
        object["metadata"]["resourceVersion"] = json!(number.to_string());
        self.objects.insert(key.clone(), object.clone());
        self.publish(kind, &key.resource, &object);
        object
    }

    /// The current time, which advances by one second per change.
    fn now(&self) -> String {
        let (minutes, seconds) = ((self.version + 1) / 60, (self.version + 1) % 60);
        format!("2026-11-22T{:02}:{:02}:{seconds:02}Z", 9 + minutes / 60, minutes % 60)
    }

    fn publish(&mut self, kind: &'static str, resource: &str, object: &Value) {
        self.events.push((self.version, kind, resource.to_owned(), object.clone()));
        for watch in self.watches.iter().filter(|watch| watch.matches(resource, object)) {
            watch.send(kind, object);
        }
    }

    pub fn put(&mut self, resource: &str, object: Value) {
        let name = object["metadata"]["name"].as_str().unwrap().to_owned();
        self.replace(ObjectKey::of(resource, &name), object, &Writer::by_hand());
    }

    pub fn delete(&mut self, key: &ObjectKey) -> bool {
        let Some(mut object) = self.objects.get(key).cloned() else { return false };
        if !has_no_finalizers(&object) {
            object["metadata"]["deletionTimestamp"] = json!("2026-11-22T09:30:00Z");
            self.store(key.clone(), object, |live, _| Owners::of(live));
            return true;
        }
        self.objects.remove(key);
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        self.publish("DELETED", &key.resource, &object);
        if key.resource == "jobs" {
            self.collect_garbage(&object["metadata"]["uid"]);
        }
        true
    }

    /// Deletes the ConfigMaps that a deleted Job owned.
    fn collect_garbage(&mut self, uid: &Value) {
        let is_its = |object: &Value| {
            let owners = object["metadata"]["ownerReferences"].as_array();
            owners.is_some_and(|owners| owners.iter().any(|owner| owner["uid"] == *uid))
        };
        let its = self.objects.iter().filter(|(key, object)| key.resource == "configmaps" && is_its(object));
        for key in its.map(|(key, _)| key.clone()).collect::<Vec<_>>() {
            self.delete(&key);
        }
    }

    pub fn take_watches(&mut self, resource: &str) -> Vec<Watch> {
        let (taken, left) = std::mem::take(&mut self.watches).into_iter().partition(|watch| watch.resource == resource);
        self.watches = left;
        taken
    }

    pub fn forget_events(&mut self) {
        self.events.clear();
    }

    pub fn watches(&self, resource: &str) -> usize {
        self.watches.iter().filter(|watch| watch.resource == resource && !watch.events.is_closed()).count()
    }
}

/// Applies a JSON merge patch (RFC 7386).
fn merge(object: &mut Value, patch: &Value) {
    let Value::Object(fields) = patch else {
        *object = patch.clone();
        return;
    };
    for (name, field) in fields {
        match field {
            Value::Null => drop(object.as_object_mut().and_then(|object| object.remove(name))),
            field => merge(&mut object[name], field),
        }
    }
}

/// Whether an object can be removed at once.
fn has_no_finalizers(object: &Value) -> bool {
    object["metadata"]["finalizers"].as_array().is_none_or(Vec::is_empty)
}

fn metadata_of(object: &Value) -> Value {
    json!({"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": object["metadata"]})
}

fn selector(request: &ParsedRequest) -> Option<Selector> {
    let selector = request.parameter("labelSelector")?.replace("%2F", "/").replace("%3D", "=");
    // Without a value, the label has to exist.
    Some(match selector.split_once('=') {
        Some((label, value)) => (label.to_owned(), Some(value.to_owned())),
        None => (selector, None),
    })
}

fn is_selected(selector: Option<&Selector>, object: &Value) -> bool {
    selector.is_none_or(|(label, value)| {
        let found = object["metadata"]["labels"][label].as_str();
        found.is_some() && (value.is_none() || found == value.as_deref())
    })
}

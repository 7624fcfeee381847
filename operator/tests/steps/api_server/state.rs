use std::collections::BTreeMap;

use ragengine_operator::requests::ApiRequest;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::apply::{canonical, defaulted, looked_at, refusal};
use super::ownership::{self, Owners, Writer};
use super::{Call, Fault, Question, Reply, status};

/// Where an object is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub resource: String,
    pub namespace: String,
    pub name: String,
}

impl Place {
    /// In the namespace of the tests.
    pub fn of(resource: &str, name: &str) -> Self {
        Self { resource: resource.to_owned(), namespace: "tests".to_owned(), name: name.to_owned() }
    }
}

pub struct Watch {
    pub resource: String,
    selector: Option<(String, String)>,
    is_metadata_only: bool,
    events: mpsc::UnboundedSender<String>,
}

impl Watch {
    pub fn tell(&self, kind: &str, object: &Value) {
        let shown = if self.is_metadata_only && kind != "ERROR" { metadata_of(object) } else { object.clone() };
        // The receiver is gone when the watch was given up.
        drop(self.events.send(format!("{}\n", json!({"type": kind, "object": shown}))));
    }

    fn wants(&self, resource: &str, object: &Value) -> bool {
        self.resource == resource && is_selected(self.selector.as_ref(), object)
    }
}

/// Everything that the server knows.
#[derive(Default)]
pub struct State {
    pub objects: BTreeMap<Place, Value>,
    pub faults: Vec<(&'static str, String, usize, Fault)>,
    pub calls: Vec<Call>,
    pub watches: Vec<Watch>,
    pub version: u64,
    /// What has happened, for watches that begin later: version, kind of event, resource, object.
    events: Vec<(u64, &'static str, String, Value)>,
}

impl State {
    /// Whether this request goes wrong.
    pub fn fault(&mut self, asked: &ApiRequest) -> Option<Fault> {
        let (_, _, times, fault) = self
            .faults
            .iter_mut()
            .find(|(verb, resource, times, _)| *times > 0 && *verb == asked.verb && *resource == asked.resource)?;
        *times -= 1;
        Some(fault.clone())
    }

    pub fn act(&mut self, question: &Question) -> Reply {
        let missing = || Reply::Whole(404, status(404, "not found"));
        let Question { asked, place, body, .. } = question;
        match (asked.verb, asked.resource.as_str()) {
            ("list", _) => self.list(question),
            ("watch", _) => self.watch(question),
            ("get", _) => self.objects.get(place).map_or_else(missing, |found| Reply::Whole(200, found.clone())),
            ("create", "events") => Reply::Whole(201, body.clone()),
            ("create", _) => self.create(question),
            ("update", _) => self.update(question),
            ("patch", "events") => Reply::Whole(200, body.clone()),
            ("patch", _) if question.is_merge => self.merge(question),
            ("patch", _) => self.apply(question),
            ("delete", _) if self.delete(place) => Reply::Whole(200, json!({"kind": "Status", "status": "Success"})),
            ("delete", _) => missing(),
            (verb, resource) => panic!("{verb} {resource}"),
        }
    }

    fn list(&mut self, question: &Question) -> Reply {
        let selector = selector(question);
        let of_kind = self.objects.iter().filter(|(place, _)| place.resource == question.place.resource);
        let items: Vec<Value> = of_kind
            .filter(|(_, object)| is_selected(selector.as_ref(), object))
            .map(|(_, object)| if question.is_metadata_only { metadata_of(object) } else { object.clone() })
            .collect();
        assert!(
            question.is_metadata_only || question.place.resource != "secrets",
            "of Secrets nothing is read but their metadata"
        );
        Reply::Whole(200, json!({"metadata": {"resourceVersion": self.version.to_string()}, "items": items}))
    }

    fn watch(&mut self, question: &Question) -> Reply {
        let (sender, receiver) = mpsc::unbounded_channel();
        let resource = question.place.resource.clone();
        let Question { is_metadata_only, .. } = *question;
        let watch = Watch { selector: selector(question), resource, is_metadata_only, events: sender };
        let since: u64 = question.parameter("resourceVersion").and_then(|version| version.parse().ok()).unwrap_or(0);
        self.resume(vec![watch], since);
        Reply::Stream(receiver)
    }

    /// These watches are told what has happened since, and what happens from now on.
    pub fn resume(&mut self, watches: Vec<Watch>, since: u64) {
        for watch in &watches {
            let missed = self
                .events
                .iter()
                .filter(|(version, _, resource, object)| *version > since && watch.wants(resource, object));
            missed.for_each(|(_, kind, _, object)| watch.tell(kind, object));
        }
        self.watches.extend(watches);
    }

    fn create(&mut self, question: &Question) -> Reply {
        let name = question.body["metadata"]["name"].as_str().unwrap().to_owned();
        let place = Place { name, ..question.place.clone() };
        match self.objects.contains_key(&place) {
            true => Reply::Whole(409, status(409, "already exists")),
            false => Reply::Whole(201, self.replace(place, question.body.clone(), &question.writer())),
        }
    }

    fn update(&mut self, question: &Question) -> Reply {
        let Question { place, body, .. } = question;
        let Some(found) = self.objects.get(place) else { return Reply::Whole(404, status(404, "not found")) };
        match found["metadata"]["resourceVersion"] == body["metadata"]["resourceVersion"] {
            false => Reply::Whole(409, status(409, "the object has been modified")),
            true => Reply::Whole(200, self.replace(place.clone(), body.clone(), &question.writer())),
        }
    }

    /// Only objects are made by it, not statuses. What the body says of the uid has to be so.
    fn apply(&mut self, question: &Question) -> Reply {
        let Question { place, body, .. } = question;
        let (writer, live) = (question.writer(), self.objects.get(place).unwrap_or(&Value::Null));
        if live.is_null() && !writer.subresource.is_empty() {
            return Reply::Whole(404, status(404, "not found"));
        }
        if !live.is_null() && body["metadata"].get("uid").is_some_and(|said| *said != live["metadata"]["uid"]) {
            return Reply::Whole(409, status(409, "the uid in the precondition is another one"));
        }
        let (code, is_forced) = (if live.is_null() { 201 } else { 200 }, question.parameter("force") == Some("true"));
        let (object, owners) = match ownership::apply(live, body, &writer, is_forced, &self.now()) {
            Ok(applied) => applied,
            Err(others) => return Reply::Whole(409, status(409, &format!("conflicts with {}", others.join(", ")))),
        };
        let object = if writer.subresource.is_empty() { canonical(&object) } else { object };
        match refusal(&place.resource, &object) {
            Some(message) => Reply::Whole(422, status(422, &message)),
            None => Reply::Whole(code, self.keep(place.clone(), object, |_, _| owners)),
        }
    }

    /// Puts fields in the place of others. What the body says of the uid and the version has to be so.
    fn merge(&mut self, question: &Question) -> Reply {
        let Question { place, body, .. } = question;
        let Some(found) = self.objects.get(place) else { return Reply::Whole(404, status(404, "not found")) };
        let has_other = |name: &str| body["metadata"].get(name).is_some_and(|said| *said != found["metadata"][name]);
        if has_other("uid") || has_other("resourceVersion") {
            return Reply::Whole(409, status(409, "the object has been modified"));
        }
        let mut object = found.clone();
        merge(&mut object, body);
        let is_gone = object["metadata"]["deletionTimestamp"].is_string() && is_free(&object);
        let object = self.replace(place.clone(), object, &question.writer());
        if is_gone {
            self.delete(place);
        }
        Reply::Whole(200, object)
    }

    /// Keeps an object that takes the place of the one there is.
    fn replace(&mut self, place: Place, object: Value, writer: &Writer) -> Value {
        let now = self.now();
        self.keep(place, object, |live, new| {
            let said = if new["metadata"]["managedFields"].is_null() { live } else { new };
            Owners::of(said).after_update(writer, live, new, &now)
        })
    }

    /// Keeps an object, with what the server adds, unless it is as it was.
    fn keep(&mut self, place: Place, mut object: Value, owners: impl FnOnce(&Value, &Value) -> Owners) -> Value {
        let before = self.objects.get(&place).unwrap_or(&Value::Null);
        let (kind, metadata) = (if before.is_null() { "ADDED" } else { "MODIFIED" }, &before["metadata"]);
        let number = self.version + 1;
        let kept = |name: &str, new: Value| if metadata[name].is_null() { new } else { metadata[name].clone() };
        let added = [
            ("uid", kept("uid", json!(format!("uid-{number}")))),
            ("creationTimestamp", kept("creationTimestamp", json!("2026-11-22T09:00:00Z"))),
            ("resourceVersion", kept("resourceVersion", json!("0"))),
            ("namespace", json!(place.namespace)),
        ];
        for (name, value) in added {
            object["metadata"][name] = value;
        }
        defaulted(&place.resource, &mut object);
        let is_changed = before["spec"] != object["spec"] || before.is_null();
        let generation = metadata["generation"].as_i64().unwrap_or(0) + i64::from(is_changed);
        object["metadata"]["generation"] = json!(generation);
        object["metadata"]["managedFields"] = owners(before, &object).entries();
        if place.resource == "deployments" {
            looked_at(&mut object);
        }
        if *before == object {
            return object;
        }
        self.version = number;
        object["metadata"]["resourceVersion"] = json!(number.to_string());
        self.objects.insert(place.clone(), object.clone());
        self.happened(kind, &place.resource, &object);
        object
    }

    /// A second for each change.
    fn now(&self) -> String {
        let (minutes, seconds) = ((self.version + 1) / 60, (self.version + 1) % 60);
        format!("2026-11-22T{:02}:{:02}:{seconds:02}Z", 9 + minutes / 60, minutes % 60)
    }

    fn happened(&mut self, kind: &'static str, resource: &str, object: &Value) {
        self.events.push((self.version, kind, resource.to_owned(), object.clone()));
        for watch in self.watches.iter().filter(|watch| watch.wants(resource, object)) {
            watch.tell(kind, object);
        }
    }

    pub fn put(&mut self, resource: &str, object: Value) {
        let name = object["metadata"]["name"].as_str().unwrap().to_owned();
        self.replace(Place::of(resource, &name), object, &Writer::by_hand());
    }

    pub fn delete(&mut self, place: &Place) -> bool {
        let Some(mut object) = self.objects.get(place).cloned() else { return false };
        if !is_free(&object) {
            object["metadata"]["deletionTimestamp"] = json!("2026-11-22T09:30:00Z");
            self.keep(place.clone(), object, |live, _| Owners::of(live));
            return true;
        }
        self.objects.remove(place);
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        self.happened("DELETED", &place.resource, &object);
        if place.resource == "jobs" {
            self.collect_garbage(&object["metadata"]["uid"]);
        }
        true
    }

    /// What a Job owned goes with it.
    fn collect_garbage(&mut self, uid: &Value) {
        let is_its = |object: &Value| {
            let owners = object["metadata"]["ownerReferences"].as_array();
            owners.is_some_and(|owners| owners.iter().any(|owner| owner["uid"] == *uid))
        };
        let its = self.objects.iter().filter(|(place, object)| place.resource == "configmaps" && is_its(object));
        for place in its.map(|(place, _)| place.clone()).collect::<Vec<_>>() {
            self.delete(&place);
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

/// RFC 7386.
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

/// Whether nothing keeps an object from going.
fn is_free(object: &Value) -> bool {
    object["metadata"]["finalizers"].as_array().is_none_or(Vec::is_empty)
}

fn metadata_of(object: &Value) -> Value {
    json!({"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": object["metadata"]})
}

fn selector(question: &Question) -> Option<(String, String)> {
    let selector = question.parameter("labelSelector")?.replace("%2F", "/").replace("%3D", "=");
    selector.split_once('=').map(|(label, value)| (label.to_owned(), value.to_owned()))
}

fn is_selected(selector: Option<&(String, String)>, object: &Value) -> bool {
    selector.is_none_or(|(label, value)| object["metadata"]["labels"][label] == **value)
}

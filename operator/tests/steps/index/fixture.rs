//! Indexes from YAML, an engine that takes documents, and Jobs.

use std::sync::Arc;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::jiff::Timestamp;
use ragengine_operator_api::{Index, RagEngine};
use ragengine_settings::sync::AddressRange;
use serde_json::{Value, json};

use crate::api_server::{ApiServer, Fault};
use crate::fixture::defaults;

/// Nine o'clock, when the clock of a controller begins.
pub fn nine() -> Timestamp {
    "2026-11-22T09:00:00Z".parse().unwrap()
}

/// An operator that lets an Index go anywhere.
pub fn anywhere() -> Vec<AddressRange> {
    defaults().allowed_ranges
}

/// An Index `handbook` of the engine `docs`, with these fields of `spec` besides; and a source, where it names none.
pub fn index(spec: &str) -> Index {
    let mut index: Index = serde_json::from_value(made("handbook", spec)).unwrap();
    index.metadata.namespace = Some("tests".to_owned());
    index.metadata.uid = Some("uid-of-the-index".to_owned());
    index.metadata.generation = Some(1);
    index
}

/// As a user makes it.
pub fn made(name: &str, spec: &str) -> Value {
    let mut spec: Value = serde_saphyr::from_str(spec).unwrap();
    let source = json!([{"name": "notes", "inline": {"documents": [{"path": "a.md", "text": "A."}]}}]);
    for (field, default) in [("engineRef", json!({"name": "docs"})), ("sources", source)] {
        if spec[field].is_null() {
            spec[field] = default;
        }
    }
    json!({"apiVersion": "ragengine.dev/v1alpha1", "kind": "Index", "metadata": {"name": name}, "spec": spec})
}

/// The status of an engine whose condition Ready is this.
pub fn engine_status(status: &str, reason: &str, data_id: &str) -> Value {
    json!({
        "conditions": [{
            "type": "Ready", "status": status, "reason": reason, "message": "the server says so",
            "lastTransitionTime": "2026-11-22T09:00:00Z",
        }],
        "replicas": 1,
        "dataId": data_id,
    })
}

/// The engine `docs`, which takes documents.
pub fn engine(spec: &str) -> Value {
    let spec: Value = serde_saphyr::from_str(spec).unwrap();
    json!({
        "apiVersion": "ragengine.dev/v1alpha1", "kind": "RAGEngine",
        "metadata": {"name": "docs", "namespace": "tests", "uid": "uid-of-the-engine"},
        "spec": spec, "status": engine_status("True", "Serving", "data-1"),
    })
}

/// The same as the operator sees it.
pub fn seen_engine(spec: &str) -> Arc<RagEngine> {
    Arc::new(serde_json::from_value(engine(spec)).unwrap())
}

/// A Job as the operator sees it, with this condition or none.
pub fn job(wanted: &str, condition: Option<&str>) -> Arc<Job> {
    job_after(None, wanted, condition)
}

/// The same of one that was made after another.
pub fn job_after(after: Option<&str>, wanted: &str, condition: Option<&str>) -> Arc<Job> {
    let conditions: Vec<Value> = condition.iter().map(|type_| ended(type_)["conditions"][0].clone()).collect();
    let mut metadata = json!({
        "name": "handbook-sync-1", "uid": "uid-of-the-job", "creationTimestamp": "2026-11-22T09:00:01Z",
        "labels": {
            "ragengine.dev/sync-id": "sync-1", "ragengine.dev/wanted": wanted, "ragengine.dev/specification": "specification",
        },
    });
    if let Some(after) = after {
        metadata["labels"]["ragengine.dev/after"] = json!(after);
    }
    let status = json!({"startTime": "2026-11-22T09:00:02Z", "conditions": conditions});
    Arc::new(serde_json::from_value(json!({"metadata": metadata, "status": status})).unwrap())
}

/// The status of a Job that has ended.
pub fn ended(type_: &str) -> Value {
    let message = (type_ == "Failed").then_some("Job has reached the specified backoff limit");
    let condition = json!({
        "type": type_, "status": "True", "message": message, "lastTransitionTime": "2026-11-22T09:00:09Z",
    });
    json!({"startTime": "2026-11-22T09:00:02Z", "conditions": [condition]})
}

/// An API server with the engine, whose own status nobody changes.
pub fn server() -> ApiServer {
    let server = ApiServer::default();
    server.fail("patch", "ragengines/status", usize::MAX, Fault::Refusal(409, "it is another one"));
    server.put("ragengines", with_name_only(engine("{replicas: 0}")));
    server
}

fn with_name_only(mut object: Value) -> Value {
    object["metadata"] = json!({"name": object["metadata"]["name"]});
    object
}

/// The Job of a label's value.
pub fn label(server: &ApiServer, job: &str, label: &str) -> String {
    let job = server.get("jobs", job).unwrap();
    job["metadata"]["labels"][format!("ragengine.dev/{label}")].as_str().unwrap().to_owned()
}

/// The only Job that there is.
pub fn only_job(server: &ApiServer) -> String {
    let names = server.names("jobs");
    assert_eq!(names.len(), 1, "{names:?}");
    names.into_iter().next().unwrap()
}

/// A Job ends.
pub fn end(server: &ApiServer, job: &str, condition: &str) {
    server.edit("jobs", job, |object| object["status"] = ended(condition));
}

/// A Job ends well, and the status says so, as after the engine was asked. The Job itself is tidied up.
pub fn succeed(server: &ApiServer, index: &str, job: &str) {
    let [id, wanted, specification] = ["sync-id", "wanted", "specification"].map(|name| label(server, job, name));
    let annotations = server.get("jobs", job).unwrap()["metadata"]["annotations"].clone();
    end(server, job, "Complete");
    server.edit("indexes", index, |object| {
        object["status"]["lastSync"] = json!({
            "id": id, "wanted": wanted, "specification": specification, "result": "Succeeded",
            "startedAt": "2026-11-22T09:00:00Z", "finishedAt": "2026-11-22T09:00:09Z",
        });
        object["status"]["dataId"] = json!("data-1");
        let confirmed = &annotations["ragengine.dev/confirm-delete"];
        if confirmed.is_string() {
            object["status"]["handled"]["confirmDelete"] = confirmed.clone();
        }
    });
    server.delete("jobs", job);
}

/// One condition of an Index: its status and its reason.
pub fn condition(server: &ApiServer, index: &str, type_: &str) -> (String, String, String) {
    let object = server.get("indexes", index).unwrap();
    let conditions = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let found = conditions.into_iter().find(|found| found["type"] == type_).unwrap_or_default();
    let text = |field: &str| found[field].as_str().unwrap_or_default().to_owned();
    (text("status"), text("reason"), text("message"))
}

/// `True Synced`.
pub fn ready(server: &ApiServer, index: &str) -> String {
    let (status, reason, _) = condition(server, index, "Ready");
    format!("{status} {reason}")
}

/// The ConfigMap with what a Job is to do.
pub fn task_name(server: &ApiServer, job: &str) -> String {
    let pod = server.get("jobs", job).unwrap()["spec"]["template"]["spec"].clone();
    let task = pod["volumes"].as_array().unwrap().iter().find(|volume| volume["name"] == "task").unwrap();
    task["configMap"]["name"].as_str().unwrap().to_owned()
}

/// What the Job that was made last was told to do.
pub fn task(server: &ApiServer) -> ragengine_settings::sync::SyncTask {
    let job = server.names("jobs").into_iter().last().expect("a Job");
    let task = server.get("configmaps", &task_name(server, &job)).unwrap();
    serde_saphyr::from_str(task["data"]["task.yaml"].as_str().unwrap()).unwrap()
}

//! Fixtures of the Index tests: Indexes from YAML, an engine that serves, and Jobs.

use std::sync::Arc;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::jiff::Timestamp;
use ragengine_operator_api::{Index, RagEngine};
use ragengine_settings::sync::AddressRange;
use serde_json::{Value, json};

use crate::api_server::{ApiServer, Fault};
use crate::fixture::defaults;

/// Nine o'clock, the start time of the controller's clock.
pub fn nine() -> Timestamp {
    "2026-11-22T09:00:00Z".parse().unwrap()
}

/// The address ranges of an operator that allows every address.
pub fn any_address() -> Vec<AddressRange> {
    defaults().allowed_ranges
}

/// An Index `handbook` of the engine `docs` with this `spec`, as stored. A spec without sources gets one.
pub fn index(spec: &str) -> Index {
    let mut index: Index = serde_json::from_value(manifest("handbook", spec)).unwrap();
    index.metadata.namespace = Some("tests".to_owned());
    index.metadata.uid = Some("uid-of-the-index".to_owned());
    index.metadata.generation = Some(1);
    index
}

/// The manifest of an Index, as a user writes it.
pub fn manifest(name: &str, spec: &str) -> Value {
    let mut spec: Value = serde_saphyr::from_str(spec).unwrap();
    let source = json!([{"name": "notes", "inline": {"documents": [{"path": "a.md", "text": "A."}]}}]);
    for (field, default) in [("engineRef", json!({"name": "docs"})), ("sources", source)] {
        if spec[field].is_null() {
            spec[field] = default;
        }
    }
    json!({"apiVersion": "ragengine.dev/v1alpha1", "kind": "Index", "metadata": {"name": name}, "spec": spec})
}

/// The status of an engine with this `Ready` condition.
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

/// The engine `docs` with this spec. It is ready and serves.
pub fn engine(spec: &str) -> Value {
    let spec: Value = serde_saphyr::from_str(spec).unwrap();
    json!({
        "apiVersion": "ragengine.dev/v1alpha1", "kind": "RAGEngine",
        "metadata": {"name": "docs", "namespace": "tests", "uid": "uid-of-the-engine"},
        "spec": spec, "status": engine_status("True", "Serving", "data-1"),
    })
}

/// The engine `docs` as the operator's cache returns it.
pub fn cached_engine(spec: &str) -> Arc<RagEngine> {
    Arc::new(serde_json::from_value(engine(spec)).unwrap())
}

/// A Job as the operator's cache returns it, for this desired revision. `condition` is `Complete`, `Failed` or `None`.
pub fn job(wanted: &str, condition: Option<&str>) -> Arc<Job> {
    job_after(None, wanted, condition)
}

/// Like [`job`], for a Job that follows the synchronisation `after`.
pub fn job_after(after: Option<&str>, wanted: &str, condition: Option<&str>) -> Arc<Job> {
    let conditions: Vec<Value> =
        condition.iter().map(|type_| finished_status(type_)["conditions"][0].clone()).collect();
    let mut metadata = json!({
        "name": "handbook-sync-1", "uid": "uid-of-the-job", "creationTimestamp": "2026-11-22T09:00:01Z",
        "labels": {
            "ragengine.dev/sync-id": "sync-1", "ragengine.dev/wanted": wanted,
            "ragengine.dev/specification": "specification",
        },
    });
    if let Some(after) = after {
        metadata["labels"]["ragengine.dev/after"] = json!(after);
    }
    let status = json!({"startTime": "2026-11-22T09:00:02Z", "conditions": conditions});
    Arc::new(serde_json::from_value(json!({"metadata": metadata, "status": status})).unwrap())
}

/// The status of a Job that has finished with this condition.
pub fn finished_status(type_: &str) -> Value {
    let message = (type_ == "Failed").then_some("Job has reached the specified backoff limit");
    let condition = json!({
        "type": type_, "status": "True", "message": message, "lastTransitionTime": "2026-11-22T09:00:09Z",
    });
    json!({"startTime": "2026-11-22T09:00:02Z", "conditions": [condition]})
}

/// An API server with the engine `docs`. It refuses writes to the engine's status, so the status never changes.
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

/// The value of the label `ragengine.dev/{label}` of a Job.
pub fn label(server: &ApiServer, job: &str, label: &str) -> String {
    let job = server.get("jobs", job).unwrap();
    job["metadata"]["labels"][format!("ragengine.dev/{label}")].as_str().unwrap().to_owned()
}

/// The name of the only Job. Panics if there is not exactly one.
pub fn only_job(server: &ApiServer) -> String {
    let names = server.names("jobs");
    assert_eq!(names.len(), 1, "{names:?}");
    names.into_iter().next().unwrap()
}

/// Finishes a Job with this condition.
pub fn finish(server: &ApiServer, job: &str, condition: &str) {
    server.edit("jobs", job, |object| object["status"] = finished_status(condition));
}

/// Completes a Job, writes the status that the operator would read from the engine, and deletes the Job.
pub fn succeed(server: &ApiServer, index: &str, job: &str) {
    let [id, wanted, specification] = ["sync-id", "wanted", "specification"].map(|name| label(server, job, name));
    let annotations = server.get("jobs", job).unwrap()["metadata"]["annotations"].clone();
    finish(server, job, "Complete");
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

/// The status, reason and message of one condition of an Index. Empty strings if it is missing.
pub fn condition(server: &ApiServer, index: &str, type_: &str) -> (String, String, String) {
    let object = server.get("indexes", index).unwrap();
    let conditions = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let found = conditions.into_iter().find(|found| found["type"] == type_).unwrap_or_default();
    let text = |field: &str| found[field].as_str().unwrap_or_default().to_owned();
    (text("status"), text("reason"), text("message"))
}

/// The `Ready` condition in short: `True Synced`.
pub fn ready(server: &ApiServer, index: &str) -> String {
    let (status, reason, _) = condition(server, index, "Ready");
    format!("{status} {reason}")
}

/// The name of the ConfigMap with a Job's task.
pub fn task_name(server: &ApiServer, job: &str) -> String {
    let pod = server.get("jobs", job).unwrap()["spec"]["template"]["spec"].clone();
    let task = pod["volumes"].as_array().unwrap().iter().find(|volume| volume["name"] == "task").unwrap();
    task["configMap"]["name"].as_str().unwrap().to_owned()
}

/// The task of the last Job.
pub fn task(server: &ApiServer) -> ragengine_settings::sync::SyncTask {
    let job = server.names("jobs").into_iter().last().expect("a Job");
    let task = server.get("configmaps", &task_name(server, &job)).unwrap();
    serde_saphyr::from_str(task["data"]["task.yaml"].as_str().unwrap()).unwrap()
}

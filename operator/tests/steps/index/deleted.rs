//! Deleted Indexes: the object is removed at once, and a Job then deletes the documents that the engine still has.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::routing::get;
use axum::{Json, Router};
use parking_lot::Mutex;
use ragengine_client::wire::{EngineStatus, OwnedSources, Problem, ProblemKind};
use serde_json::{Value, json};

use super::fixture::{finish, manifest, ready, server, task};
use super::real_server::{serve, until};
use crate::api_server::{ApiServer, pass};
use crate::controller::{A_WHILE, Controller};

type Status = Arc<Mutex<EngineStatus>>;

async fn answer(State(status): State<Status>) -> Json<EngineStatus> {
    Json(status.lock().clone())
}

/// A running engine server at this address, with its pod. It reports a problem, so the operator polls it often.
async fn engine(server: &ApiServer, address: &'static str) -> Status {
    let problem = Problem { kind: ProblemKind::InferenceServiceFailed, detail: "no".to_owned() };
    let status = EngineStatus {
        ready: true,
        data_id: Some("data-1".to_owned()),
        problems: vec![problem],
        ..EngineStatus::default()
    };
    let status = Arc::new(Mutex::new(status));
    let router = Router::new().route("/status", get(answer)).with_state(Arc::clone(&status));
    serve(server, address, router).await;
    status
}

fn uid(server: &ApiServer, resource: &str, name: &str) -> String {
    server.get(resource, name).unwrap()["metadata"]["uid"].as_str().unwrap().to_owned()
}

/// The owner that the engine reports for the Index `handbook` with this uid, on an emptyDir volume.
fn owner(server: &ApiServer, uid: &str) -> OwnedSources {
    let scope = self::uid(server, "ragengines", "docs");
    OwnedSources { index: "handbook".to_owned(), name: "handbook".to_owned(), uid: uid.to_owned(), scope }
}

fn jobs(server: &ApiServer, kind: &str) -> Vec<String> {
    server.names("jobs").into_iter().filter(|name| name.contains(kind)).collect()
}

#[tokio::test]
async fn documents_of_a_deleted_index_are_deleted_and_a_new_one_waits() {
    let server = server();
    let status = engine(&server, "127.83.12.8").await;
    server.put("indexes", manifest("handbook", "{}"));
    let controller = Controller::start(&server);
    until("a Job", &server, || !server.names("jobs").is_empty()).await;
    status.lock().owners = vec![owner(&server, &uid(&server, "indexes", "handbook"))];
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert!(jobs(&server, "-gone-").is_empty(), "the Index exists");

    let first = server.names("jobs").remove(0);
    server.delete("indexes", "handbook");
    assert!(server.get("indexes", "handbook").is_none(), "no finalizer holds it");
    server.delete("jobs", &first);
    until("a deletion", &server, || !jobs(&server, "-gone-").is_empty()).await;
    let task = task(&server);
    assert_eq!((task.sources.len(), task.owner.as_str(), task.index.as_str()), (0, "handbook", "handbook"));
    let job = jobs(&server, "-gone-").remove(0);
    assert_eq!(server.get("jobs", &job).unwrap()["metadata"]["ownerReferences"][0]["kind"], "RAGEngine");

    // It uses another index, so it does not take over the documents of the first one.
    server.put("indexes", manifest("handbook", "{indexName: other}"));
    until("it waits", &server, || ready(&server, "handbook") == "False Deleting").await;
    assert!(jobs(&server, "-sync-").is_empty());
    status.lock().owners.clear();
    finish(&server, &job, "Complete");
    until("it is filled", &server, || !jobs(&server, "-sync-").is_empty()).await;
    controller.stop().await;
}

#[tokio::test]
async fn documents_that_may_have_an_owner_are_not_deleted() {
    let server = server();
    let status = engine(&server, "127.83.12.9").await;
    let taken_over = owner(&server, "uid-of-one-that-is-gone");
    let elsewhere =
        OwnedSources { name: "travelled".to_owned(), scope: "uid-of-another-volume".to_owned(), ..taken_over.clone() };
    // The operator has never seen this Index, so it may still be created.
    let not_made_yet = OwnedSources { name: "late".to_owned(), ..taken_over.clone() };
    status.lock().owners = vec![taken_over, elsewhere, not_made_yet];
    server.put("indexes", manifest("handbook", "{suspend: true}"));
    let controller = Controller::start(&server);
    until("Suspended", &server, || ready(&server, "handbook") == "False Suspended").await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(server.names("jobs"), [""; 0]);
    controller.stop().await;
}

/// The engine's record still says `Delete`, because the Index changed to `Retain` after its last synchronisation.
#[tokio::test]
async fn retain_set_after_the_last_synchronisation_keeps_the_documents() {
    let server = server();
    let status = engine(&server, "127.83.12.10").await;
    server.put("indexes", manifest("handbook", "{}"));
    server.put("indexes", manifest("other", "{}"));
    let controller = Controller::start(&server);
    until("two Jobs", &server, || server.names("jobs").len() == 2).await;
    let kept = owner(&server, &uid(&server, "indexes", "handbook"));
    let (uid, name) = (uid(&server, "indexes", "other"), "other".to_owned());
    let deleted = OwnedSources { index: name.clone(), name, uid, ..kept.clone() };
    // The first owner would be deleted first.
    status.lock().owners = vec![kept, deleted];
    server.edit("indexes", "handbook", |index| {
        index["spec"]["suspend"] = json!(true);
        index["spec"]["deletionPolicy"] = json!("Retain");
    });
    server.delete("indexes", "handbook");
    server.delete("indexes", "other");
    for job in server.names("jobs") {
        server.delete("jobs", &job);
    }
    until("a deletion", &server, || !jobs(&server, "-gone-").is_empty()).await;
    assert!(jobs(&server, "-gone-").iter().all(|job| job.starts_with("other-gone-")), "{:?}", server.names("jobs"));
    controller.stop().await;
}

/// The operator removes the finalizer of its earlier versions, but no finalizer of other controllers.
#[tokio::test(start_paused = true)]
async fn only_the_finalizer_of_an_earlier_version_is_removed() {
    let server = server();
    let mut index = manifest("handbook", "{}");
    index["metadata"]["finalizers"] = json!(["example.com/theirs", "ragengine.dev/index"]);
    server.put("indexes", index);
    let controller = Controller::start(&server);
    let finalizers = || server.get("indexes", "handbook").unwrap()["metadata"]["finalizers"].clone();
    crate::controller::until("the finalizer is removed", &server, || finalizers() == json!(["example.com/theirs"]))
        .await;
    crate::controller::until("filled", &server, || !server.names("jobs").is_empty()).await;
    server.delete("indexes", "handbook");
    crate::controller::until("stopped", &server, || server.names("jobs").is_empty()).await;
    pass(A_WHILE).await;
    assert_eq!((finalizers(), server.names("jobs")), (json!(["example.com/theirs"]), Vec::new()));
    assert_ne!(server.get("indexes", "handbook").unwrap()["metadata"]["deletionTimestamp"], Value::Null);
    controller.stop().await;
}

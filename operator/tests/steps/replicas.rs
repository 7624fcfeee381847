//! Several pods: the autoscaler, the disruption budget, and who says the number of pods.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use ragengine_operator::pod;
use ragengine_operator::rag_engine::validate::validate;
use serde_json::{Value, json};

use crate::api_server::{ApiServer, pass};
use crate::controller::{A_WHILE, Controller, object_writes, server_with};
use crate::fixture::{built, defaults, engine};

const SHARED: &str = "storage: {vectorDB: {engine: weaviate, url: 'http://w'}}, postgres: {url: 'postgres://db'}, \
                      sessions: {store: postgres}, feedback: {store: postgres}";

fn shared(more: &str) -> String {
    format!("{{{SHARED}, {more}}}")
}

fn set(server: &ApiServer, more: &str) {
    server.edit("ragengines", "docs", |object| object["spec"] = json!(engine(&shared(more)).spec));
}

fn replicas(server: &ApiServer) -> Value {
    server.get("deployments", "docs").unwrap()["spec"]["replicas"].clone()
}

/// What the autoscaler of the cluster does.
fn scale(server: &ApiServer, pods: i32) {
    server.edit("deployments", "docs", |object| object["spec"]["replicas"] = pods.into());
}

#[tokio::test(start_paused = true)]
async fn an_autoscaler_takes_over_the_number_of_pods_and_gives_it_back() {
    let server = server_with(&engine(&shared("replicas: 3")));
    let controller = Controller::start(&server);
    pass(A_WHILE).await;
    assert_eq!(replicas(&server), 3);
    assert!(server.get("poddisruptionbudgets", "docs").is_some());
    drop(server.calls());

    set(&server, "replicas: 3, autoscaling: {minReplicas: 2, maxReplicas: 8}");
    pass(A_WHILE).await;
    let writes =
        ["patch deployments docs 200", "patch deployments docs 200", "patch horizontalpodautoscalers docs 201"];
    assert_eq!(object_writes(&server), writes);
    assert_eq!(replicas(&server), 3, "the change does not restart with one pod");
    for pods in [5, 2, 8] {
        scale(&server, pods);
        pass(A_WHILE).await;
        assert_eq!(replicas(&server), pods);
    }
    assert_eq!(object_writes(&server), [""; 0]);

    set(&server, "replicas: 4");
    pass(A_WHILE).await;
    assert_eq!(object_writes(&server), ["patch deployments docs 200", "delete horizontalpodautoscalers docs 200"]);
    assert_eq!(replicas(&server), 4);
    scale(&server, 8);
    pass(A_WHILE).await;
    assert_eq!(replicas(&server), 4);
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_engine_with_an_autoscaler_is_stopped_and_started() {
    let server = server_with(&engine(&shared("autoscaling: {minReplicas: 2, maxReplicas: 8}")));
    let controller = Controller::start(&server);
    pass(A_WHILE).await;
    assert_eq!(replicas(&server), 1, "the autoscaler adds the others");
    scale(&server, 6);
    set(&server, "replicas: 0, autoscaling: {minReplicas: 2, maxReplicas: 8}");
    pass(A_WHILE).await;
    assert_eq!(replicas(&server), 0);
    assert!(server.get("horizontalpodautoscalers", "docs").is_none());
    assert!(server.get("poddisruptionbudgets", "docs").is_none());

    set(&server, "autoscaling: {minReplicas: 2, maxReplicas: 8}");
    pass(A_WHILE).await;
    assert_eq!(replicas(&server), 1, "an autoscaler does not start a Deployment without pods");
    assert!(server.get("horizontalpodautoscalers", "docs").is_some());
    scale(&server, 0);
    pass(A_WHILE).await;
    assert_eq!(replicas(&server), 1, "nor does it repair one");
    drop(server.calls());
    pass(A_WHILE).await;
    assert_eq!(object_writes(&server), [""; 0]);
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_changed_or_deleted_autoscaler_or_budget_is_repaired_once() {
    let server = server_with(&engine(&shared("autoscaling: {maxReplicas: 8}")));
    let controller = Controller::start(&server);
    pass(A_WHILE).await;
    drop(server.calls());
    for (resource, field, value) in [
        ("horizontalpodautoscalers", "maxReplicas", json!(100)),
        ("horizontalpodautoscalers", "metrics", json!([])),
        ("poddisruptionbudgets", "maxUnavailable", json!(0)),
    ] {
        let before = server.get(resource, "docs").unwrap()["spec"].clone();
        server.edit(resource, "docs", |object| object["spec"][field] = value);
        pass(A_WHILE).await;
        assert_eq!(server.get(resource, "docs").unwrap()["spec"], before, "{field}");
        assert_eq!(object_writes(&server), [format!("patch {resource} docs 200")], "{field}");
        server.delete(resource, "docs");
        pass(A_WHILE).await;
        assert_eq!(object_writes(&server), [format!("patch {resource} docs 201")]);
    }
    controller.stop().await;
}

#[test]
fn a_volume_is_used_by_one_pod_at_a_time() {
    let strategy = |spec: &str| {
        let strategy = built(&engine(spec)).deployment.unwrap().spec.unwrap().strategy.unwrap();
        strategy.type_.unwrap()
    };
    assert_eq!(strategy("{}"), "Recreate");
    assert_eq!(strategy(&shared("replicas: 1")), "RollingUpdate");
    let with_volume = "postgres: {url: 'postgres://db'}, storage: {vectorDB: {engine: weaviate, url: 'http://w'}, \
                       persistentVolume: {size: 1Gi}}";
    assert_eq!(strategy(&format!("{{{with_volume}}}")), "Recreate");
    let qdrant = "postgres: {url: 'postgres://db'}, storage: {vectorDB: {engine: qdrant, url: 'http://q'}}";
    assert_eq!(strategy(&format!("{{{qdrant}}}")), "RollingUpdate");
}

/// A definition of an earlier version let it pass.
#[test]
fn an_unknown_vector_engine_is_invalid_and_does_not_hide_its_engine() {
    let invalid = validate(&engine("{storage: {vectorDB: {engine: milvus}}}"), &defaults()).unwrap_err();
    assert_eq!(invalid.to_string(), "storage.vectorDB.engine: must be faiss, weaviate or qdrant, not \"milvus\"");
}

fn a_pod(name: &str, created: &str, phase: &str, is_ready: bool, is_going: bool) -> Arc<Pod> {
    let ready = if is_ready { "True" } else { "False" };
    let mut pod = json!({
        "metadata": {"name": name, "creationTimestamp": format!("2026-11-22T{created}Z")},
        "status": {"phase": phase, "conditions": [{"type": "Ready", "status": ready}]},
    });
    if is_going {
        pod["metadata"]["deletionTimestamp"] = json!("2026-11-22T10:00:00Z");
    }
    Arc::new(serde_json::from_value(pod).unwrap())
}

/// While pods are replaced, the one that is asked stays the same as long as it serves.
#[test]
fn the_oldest_ready_pod_is_asked() {
    let going = a_pod("going", "09:00:00", "Running", true, true);
    let evicted = a_pod("evicted", "09:00:01", "Failed", false, false);
    let old = a_pod("old", "09:00:02", "Running", true, false);
    let unready = a_pod("unready", "09:00:03", "Running", false, false);
    let new = a_pod("new", "09:00:04", "Running", true, false);
    let newest = a_pod("newest", "09:00:05", "Pending", false, false);
    let name = |pod: Option<&Pod>| pod.and_then(|pod| pod.metadata.name.clone()).unwrap_or_default();
    for (pods, asked, current) in [
        (vec![], "", ""),
        (vec![&going, &evicted, &old, &unready, &new, &newest], "old", "newest"),
        (vec![&newest, &new, &unready, &evicted], "new", "newest"),
        (vec![&unready, &newest, &evicted], "newest", "newest"),
        (vec![&evicted, &going], "evicted", "evicted"),
    ] {
        let pods: Vec<_> = pods.into_iter().cloned().collect();
        assert_eq!((name(pod::asked(&pods)), name(pod::current(&pods))), (asked.to_owned(), current.to_owned()));
    }
}

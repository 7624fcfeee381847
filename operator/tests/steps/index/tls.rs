//! The Jobs and the questions to a server with TLS.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::routing::get;
use axum::{Json, Router};
use k8s_openapi::api::core::v1::PodSpec;
use ragengine_client::wire::{SourceDescription, SyncPhase};
use serde_json::json;

use super::cases::source;
use super::fixture::{finish, label, manifest, only_job, ready, server, task};
use super::objects::pods_of_jobs;
use super::real_server::{serve_with_tls, until};
use crate::controller::{self, Controller};
use crate::fixture::defaults;

const TLS: &str = "{replicas: 0, tls: {secretName: certificate}}";

/// The keys of the server's Secret in a pod, and the folder that they are mounted at.
fn mounted(pod: &PodSpec) -> Option<(BTreeSet<String>, String)> {
    let volume = pod.volumes.iter().flatten().find(|volume| volume.name == "server")?;
    let secret = volume.secret.as_ref().unwrap();
    assert_eq!(secret.secret_name.as_deref(), Some("certificate"));
    let mount = pod.containers[0].volume_mounts.iter().flatten().find(|mount| mount.name == "server").unwrap();
    assert_eq!(mount.read_only, Some(true));
    // Without items, all keys would be mounted.
    let items = secret.items.as_ref().unwrap().iter();
    Some((items.map(|item| item.key.clone()).collect(), mount.mount_path.clone()))
}

#[test]
fn a_job_gets_the_certificates_and_not_the_key() {
    for (what, pod) in pods_of_jobs(TLS, &defaults()) {
        let (keys, folder) = mounted(&pod).unwrap();
        assert_eq!(keys, BTreeSet::from(["ca.crt".to_owned(), "tls.crt".to_owned()]), "{what}");
        assert_eq!(folder, "/etc/ragengine/server", "{what}");
    }
    for (what, pod) in pods_of_jobs("{}", &defaults()) {
        assert_eq!(mounted(&pod), None, "{what}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_job_waits_for_the_certificates_and_uses_https() {
    let server = server();
    server.edit("ragengines", "docs", |engine| engine["spec"] = serde_saphyr::from_str(TLS).unwrap());
    server.put("indexes", manifest("handbook", "{}"));
    let controller = Controller::start(&server);
    controller::until("SecretMissing", &server, || ready(&server, "handbook") == "False SecretMissing").await;
    assert_eq!(server.names("jobs"), [""; 0]);
    server.put("secrets", json!({"metadata": {"name": "certificate"}}));
    controller::until("a Job", &server, || !server.names("jobs").is_empty()).await;
    let task = task(&server);
    assert_eq!(task.server, "https://docs.tests.svc.cluster.local:80");
    let files: Vec<_> = task.server_ca_files.iter().map(|file| file.to_str().unwrap()).collect();
    assert_eq!(files, ["/etc/ragengine/server/ca.crt", "/etc/ragengine/server/tls.crt"]);
    controller.stop().await;
}

/// The operator reads no Secret, so it does not know the authority. It knows the server by the address of its pod.
#[tokio::test]
async fn the_operator_reads_the_record_over_tls() {
    let server = server();
    server.put("secrets", json!({"metadata": {"name": "certificate"}}));
    server.edit("ragengines", "docs", |engine| engine["spec"] = serde_saphyr::from_str(TLS).unwrap());
    server.put("indexes", manifest("handbook", "{}"));
    let sources: Arc<parking_lot::Mutex<Vec<SourceDescription>>> = Arc::default();
    let answer = {
        let sources = Arc::clone(&sources);
        async move || Json(json!(*sources.lock()))
    };
    let router = Router::new().route("/indexes/{name}/sources", get(answer));
    let answering = serve_with_tls(&server, "127.83.12.21", router).await;
    let controller = Controller::start(&server);
    until("a Job", &server, || !server.names("jobs").is_empty()).await;
    let job = only_job(&server);
    let description = source(SyncPhase::Complete, |sync| sync.sync_id = label(&server, &job, "sync-id"));
    sources.lock().push(SourceDescription { name: "handbook.notes".to_owned(), ..description });
    finish(&server, &job, "Complete");
    until("Synced", &server, || ready(&server, "handbook") == "True Synced").await;
    answering.abort();
    controller.stop().await;
}

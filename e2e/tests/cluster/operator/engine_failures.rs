//! Failures of the engine: its pod is deleted, its process is killed, its volume is full.

use k8s_openapi::api::core::v1::Pod;
use ragengine_e2e::cluster_client::{self, CLIENT};
use ragengine_e2e::engine::{Engine, condition};
use ragengine_e2e::namespace::{PodSecurity, in_namespace};
use ragengine_e2e::operator::Operator;
use ragengine_e2e::pod::{client_container, container_status, is_ready};
use ragengine_e2e::server::{documents, retrieval};
use ragengine_e2e::skip::skip;
use ragengine_operator_api::{ConditionStatus, ConditionType, RagEngine, Reason};
use serde_json::{Value, json};

fn ready_since(engine: &RagEngine) -> String {
    condition(engine, ConditionType::Ready).unwrap().last_transition_time.0.to_string()
}

#[tokio::test]
async fn an_engine_whose_pod_is_deleted_or_killed_is_ready_again_with_its_documents() {
    in_namespace("ends", async |namespace| {
        let _operator = Operator::install(namespace).await?;
        let spec = json!({"auth": {"writes": "open"}, "storage": {"persistentVolume": {"size": "256Mi"}}});
        let engine = Engine::start(namespace, "docs", &spec).await?;
        engine.post("/index", &documents("sky", &[("moon", "The moon is grey.")])).await?.ok()?;
        let counted = engine.until_status("the document is counted", |engine| {
            engine.status.as_ref().is_some_and(|status| status.documents == Some(1))
        });
        let before = counted.await?;
        let first = engine.ready_pod().await?;

        namespace.delete::<Pod>(first.metadata.name.as_deref().unwrap()).await?;
        engine.until_status("the engine is not Ready", |engine| ready_since(engine) != ready_since(&before)).await?;
        let again = engine.until_ready().await?;
        let second = engine.ready_pod().await?;
        assert_ne!(second.metadata.uid, first.metadata.uid);
        let (old, new) = (before.status.as_ref().unwrap(), again.status.as_ref().unwrap());
        assert_eq!((&new.data_id, new.documents), (&old.data_id, Some(1)), "the same volume");
        assert_eq!(engine.get("/indexes/sky").await?.ok()?["documents"], 1);

        let node = namespace.beside("node", PodSecurity::Privileged).await?;
        if let Some(reason) = cluster_client::why_not_kill(&node).await? {
            skip("an_engine_whose_pod_is_deleted_or_killed: the kill", &reason);
            return Ok(());
        }
        // The pod may have restarted once already, if it started before the previous pod had released the volume.
        let restarts = container_status(&second, "ragengine").unwrap().restart_count;
        cluster_client::kill(&node, &second, "ragengine").await?;
        engine.until_status("the engine is not Ready", |engine| ready_since(engine) != ready_since(&again)).await?;
        let healed = engine.until_ready().await?;
        assert_eq!(condition(&healed, ConditionType::Degraded).unwrap().status, ConditionStatus::False);
        let same = engine.ready_pod().await?;
        assert_eq!(same.metadata.uid, second.metadata.uid);
        assert_eq!(container_status(&same, "ragengine").unwrap().restart_count, restarts + 1);
        assert_eq!(engine.get("/indexes/sky").await?.ok()?["documents"], 1);
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_full_volume_is_reported_until_there_is_room_again() {
    const FILLER: &str = "/full/filler";
    in_namespace("volume-full", async |namespace| {
        let _operator = Operator::install(namespace).await?;
        let spec = json!({"auth": {"writes": "open"}, "podTemplate": {"spec": small_volume()?}});
        let engine = Engine::start(namespace, "docs", &spec).await?;
        engine.post("/index", &documents("sky", &[("moon", "The moon is grey.")])).await?.ok()?;
        let pod = engine.ready_pod().await?;
        let name = pod.metadata.name.as_deref().unwrap();

        cluster_client::fill(&engine.pods(), name, FILLER).await?;
        let message = engine.until_not_ready(Reason::VolumeFull).await?;
        assert!(message.contains("the volume is full") && message.contains("delete documents"), "{message}");
        // The engine still answers.
        assert!(is_ready(&engine.ready_pod().await?));
        engine.post("/retrieve", &retrieval("sky", "moon")).await?.ok()?;
        cluster_client::remove(&engine.pods(), name, FILLER).await?;
        engine.until_ready().await?;
        let healed = engine.ready_pod().await?;
        assert!(is_ready(&healed) && healed.metadata.uid == pod.metadata.uid);
        Ok(())
    })
    .await;
}

/// The data volume as 64 MiB of memory, with a second container that can fill it.
fn small_volume() -> Result<Value, ragengine_e2e::Error> {
    let mut filler = serde_json::to_value(client_container(&["wait"])?).unwrap();
    filler["name"] = json!(CLIENT);
    filler["volumeMounts"] = json!([{"name": "data", "mountPath": "/full"}]);
    let memory = json!({"name": "data", "emptyDir": {"medium": "Memory", "sizeLimit": "64Mi"}});
    Ok(json!({"containers": [filler], "volumes": [memory]}))
}

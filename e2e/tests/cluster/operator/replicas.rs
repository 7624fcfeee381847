//! Several pods of one engine, with their indexes in Weaviate and PostgreSQL: under load, while pods, a node of Weaviate
//! and the Deployment's template change.

mod autoscaling;
mod contents;

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::api::{DeleteParams, EvictParams};
use ragengine_e2e::engine::Engine;
use ragengine_e2e::load::Load;
use ragengine_e2e::namespace::{Namespace, PodSecurity, in_namespace};
use ragengine_e2e::operator::Operator;
use ragengine_e2e::postgres::{self, POSTGRES};
use ragengine_e2e::redis::{self, REDIS};
use ragengine_e2e::server::documents;
use ragengine_e2e::skip::skip;
use ragengine_e2e::weaviate::{WEAVIATE, Weaviate};
use ragengine_e2e::{Error, cluster_client};
use serde_json::{Value, json};

/// The number of pods, and of nodes of Weaviate.
const PODS: usize = 3;

/// The index of the load, and the one that the test itself writes to.
const LOADED: &str = "loaded";
const SHARED: &str = "shared";

/// The load gets this number of answers before and after each event, which is some of each kind of request.
const A_FEW: u64 = 40;

const TEST: &str = "nothing_is_lost_or_wrong_while_pods_and_nodes_of_weaviate_end_and_no_request_fails_in_a_rollout";

#[tokio::test]
async fn nothing_is_lost_or_wrong_while_pods_and_nodes_of_weaviate_end_and_no_request_fails_in_a_rollout() {
    in_namespace("replicas", async |namespace| {
        let _operator = Operator::install(namespace).await?;
        let (database, conversations, weaviate) = tokio::try_join!(
            postgres::start(namespace, "p@ss w/o\"r#d"),
            redis::start(namespace, "another p@ss"),
            Weaviate::start(namespace, PODS),
        )?;
        let spec = json!({
            "replicas": PODS,
            "auth": {"writes": "open"},
            "retrieval": {"maxDistance": 1.1},
            "storage": {"vectorDB": {
                "engine": "weaviate", "url": weaviate.url(), "accessSecret": WEAVIATE, "replicationFactor": PODS,
            }},
            "postgres": {"url": database, "accessSecret": POSTGRES},
            "redis": {"url": conversations, "accessSecret": REDIS},
            "sessions": {"store": "redis"},
            "feedback": {"store": "postgres"},
        });
        let engine = Engine::start(namespace, "docs", &spec).await?;
        engine.ready_pods(PODS).await?;
        for index in [LOADED, SHARED] {
            engine.post("/index", &documents(index, &[("first", "The first text.")])).await?.ok()?;
            let path = format!("/indexes/{index}/documents/delete");
            engine.post(&path, &json!({"doc_ids": ["first"]})).await?.ok()?;
        }
        let load = Load::start(namespace, &engine.url(""), LOADED).await?;
        load.until_further(A_FEW).await?;
        assert_budget(namespace).await?;
        contents::check(&engine, &load, "before").await?;

        roll(&engine, &load, &spec).await?;
        contents::check(&engine, &load, "rolled").await?;
        // The last pod of before counts until it has ended.
        assert_budget(namespace).await?;
        end_pods(&engine, &load).await?;
        contents::check(&engine, &load, "ended").await?;

        let privileged = namespace.beside("node", PodSecurity::Privileged).await?;
        if let Some(reason) = cluster_client::why_not_kill(&privileged).await? {
            skip(TEST, &format!("no node of Weaviate is killed: {reason}"));
            return Ok(());
        }
        weaviate.kill(&privileged, PODS - 1).await?;
        load.until_further(A_FEW).await?;
        contents::check_after_kill(&engine, &load, "node").await?;
        engine.until_ready().await?;
        Ok(())
    })
    .await;
}

/// The budget lets one pod be evicted.
async fn assert_budget(namespace: &Namespace) -> Result<(), Error> {
    namespace
        .until("docs", "the disruption budget counts the pods", |budget: &PodDisruptionBudget| {
            let (spec, status) = (budget.spec.clone().unwrap_or_default(), budget.status.clone().unwrap_or_default());
            let counts = (status.expected_pods, status.current_healthy, status.disruptions_allowed);
            let wanted = (3, 3, 1);
            if counts == wanted { Ok(()) } else { Err(format!("{spec:?}, {counts:?}")) }
        })
        .await
}

/// Replaces all pods by changing their template. Each request succeeds the first time.
async fn roll(engine: &Engine<'_>, load: &Load<'_>, spec: &Value) -> Result<(), Error> {
    let before = engine.ready_pods(PODS).await?;
    let repeated = load.until_further(1).await?.repeated;
    let mut spec = spec.clone();
    spec["podTemplate"] = json!({"metadata": {"annotations": {"example.com/rolled": "yes"}}});
    engine.set(&spec).await?;
    engine.until_ready().await?;
    let after = engine.ready_pods(PODS).await?;
    assert!(after.iter().all(|pod| before.iter().all(|old| old.metadata.uid != pod.metadata.uid)), "a pod stayed");
    let report = load.until_further(A_FEW).await?;
    assert_eq!(report.repeated, repeated, "requests failed during the rollout: {:#?}", report.repetitions);
    Ok(())
}

/// Evicts a pod, as a drain of its node does. Then deletes another pod without grace.
async fn end_pods(engine: &Engine<'_>, load: &Load<'_>) -> Result<(), Error> {
    let before = engine.ready_pods(PODS).await?;
    let name = |number: usize| before[number].metadata.name.clone().unwrap_or_default();
    let evicting = engine.pods().evict(&name(0), &EvictParams::default()).await;
    evicting.map_err(Error::kubernetes("evicting a pod"))?;
    load.until_further(A_FEW).await?;
    until_replaced(engine, &before[..1]).await?;

    let at_once = DeleteParams { grace_period_seconds: Some(0), ..DeleteParams::default() };
    let deleting = engine.pods().delete(&name(1), &at_once).await;
    deleting.map(drop).map_err(Error::kubernetes("deleting a pod without grace"))?;
    load.until_further(A_FEW).await?;
    until_replaced(engine, &before[..2]).await
}

async fn until_replaced(engine: &Engine<'_>, gone: &[Pod]) -> Result<(), Error> {
    let pods = engine.ready_pods(PODS).await?;
    let stayed = pods.iter().filter(|pod| gone.iter().any(|gone| gone.metadata.uid == pod.metadata.uid)).count();
    assert_eq!(stayed, 0, "a pod that was to end is still there");
    Ok(())
}

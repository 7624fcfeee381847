//! The chart is upgraded while an engine serves requests.

use std::cell::Cell;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Service, ServiceAccount};
use ragengine_e2e::Error;
use ragengine_e2e::engine::Engine;
use ragengine_e2e::namespace::{Namespace, in_namespace};
use ragengine_e2e::operator::{OPERATOR, Operator};
use ragengine_e2e::server::{documents, retrieval};
use serde_json::json;

#[tokio::test]
async fn an_engine_serves_on_while_the_chart_is_upgraded_and_while_there_is_no_operator() {
    in_namespace("upgrade", async |namespace| {
        let mut operator = Operator::install(namespace).await?;
        let spec = json!({"auth": {"writes": "open"}, "retrieval": {"maxDistance": 1.1}});
        let engine = Engine::start(namespace, "docs", &spec).await?;
        engine.post("/index", &documents("sky", &[("moon", "The moon is grey.")])).await?.ok()?;
        let (pod, deployment) = (engine.ready_pod().await?, engine.deployment().await?);
        let service: Service = namespace.get("docs").await?;

        let is_done = Cell::new(false);
        let changing = async {
            upgrade(&mut operator).await?;
            operator.release.uninstall().await?;
            assert!(!operator.namespace.has::<Deployment>(OPERATOR).await?);
            operator.release.install(&operator.values()).await?;
            operator.until_available().await?;
            // Shows that the new operator is active.
            repairs(namespace).await?;
            engine.until_ready().await?;
            is_done.set(true);
            Ok::<_, Error>(())
        };
        let (answered, ()) = tokio::try_join!(ask_until(&engine, &is_done), changing)?;
        assert!(answered > 10, "only {answered} requests were answered during the upgrade");
        assert_eq!(engine.ready_pod().await?.metadata.uid, pod.metadata.uid);
        assert_eq!(engine.deployment().await?.metadata.generation, deployment.metadata.generation);
        let now: Service = namespace.get("docs").await?;
        assert_eq!(now.metadata.resource_version, service.metadata.resource_version);
        Ok(())
    })
    .await;
}

/// Changes a value of the chart, so that the operator's pod is replaced.
async fn upgrade(operator: &mut Operator) -> Result<(), Error> {
    let before = operator.acting_pod().await?;
    operator.set(&json!({"concurrency": 3}));
    operator.release.upgrade(&operator.values()).await?;
    operator.until_available().await?;
    let after = operator.acting_pod().await?;
    assert_ne!(after.metadata.uid, before.metadata.uid);
    Ok(())
}

async fn repairs(namespace: &Namespace) -> Result<(), Error> {
    let before: ServiceAccount = namespace.get("docs").await?;
    namespace.delete::<ServiceAccount>("docs").await?;
    namespace
        .until::<ServiceAccount, _>("docs", "the account is created again", |account| {
            if account.metadata.uid == before.metadata.uid { Err("the old object".to_owned()) } else { Ok(()) }
        })
        .await
}

/// Sends requests without a pause. The first failed request is an error.
async fn ask_until(engine: &Engine<'_>, is_done: &Cell<bool>) -> Result<usize, Error> {
    let mut connection = engine.connect().await?;
    let (query, mut answered) = (retrieval("sky", "Is the moon grey?"), 0);
    while !is_done.get() {
        let reply = connection.send(hyper::Method::POST, "/retrieve", Some(&query)).await?;
        assert_eq!(reply.ok()?["results"][0]["doc_id"], "moon");
        answered += 1;
    }
    Ok(answered)
}

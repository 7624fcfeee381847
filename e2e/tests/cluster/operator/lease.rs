//! Two operators: one is active, the other is a standby.

use hyper::Method;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::api::core::v1::{Pod, Service};
use kube::api::DeleteParams;
use ragengine_e2e::engine::Engine;
use ragengine_e2e::forward::Connection;
use ragengine_e2e::metrics::Metrics;
use ragengine_e2e::namespace::{Namespace, in_namespace};
use ragengine_e2e::operator::{ADMIN_PORT, OPERATOR, Operator};
use ragengine_e2e::{Error, pod, wait};
use ragengine_operator_api::RagEngine;
use serde_json::json;

#[tokio::test]
async fn a_standby_takes_over_from_a_killed_and_from_a_stopped_operator() {
    in_namespace("lease", async |namespace| {
        let operator = Operator::install_with(namespace, &json!({"replicas": 2})).await?;
        let engine = Engine::apply(namespace, "docs", &json!({"replicas": 0})).await?;
        engine.until_status("the engine is reconciled", |_| true).await?;
        assert_one_acts(&operator).await?;

        // Killed without time to release the lease.
        let gone = operator.acting_pod().await?.metadata.name.unwrap();
        let at_once = DeleteParams { grace_period_seconds: Some(0), ..DeleteParams::default() };
        operator.pods().delete(&gone, &at_once).await.map_err(Error::kubernetes("killing the operator"))?;
        let next = until_another_acts(&operator, &gone).await?;
        repairs(namespace).await?;
        operator.until_available().await?;

        // On SIGTERM, the operator releases the lease, so that the standby does not wait until it expires.
        let before = spec(&operator).await?;
        operator.namespace.delete::<Pod>(&next).await?;
        until_another_acts(&operator, &next).await?;
        let after = spec(&operator).await?;
        let lasts_s = before.lease_duration_seconds.unwrap();
        let (renewed, taken) = (before.renew_time.unwrap().0, after.acquire_time.unwrap().0);
        assert!((taken - renewed).get_seconds() < i64::from(lasts_s), "renewed at {renewed}, taken at {taken}");
        repairs(namespace).await?;
        // The engine was not changed.
        assert_eq!(engine.object().await?.metadata.generation, Some(1));
        namespace.delete::<RagEngine>("docs").await
    })
    .await;
}

/// The standby is ready too, and reports that it is not the leader.
async fn assert_one_acts(operator: &Operator) -> Result<(), Error> {
    let pods = operator.living_pods().await?;
    assert_eq!(pods.len(), 2);
    assert!(pods.iter().all(pod::is_ready));
    let acting = operator.acting_pod().await?.metadata.name;
    for pod in &pods {
        let name = pod.metadata.name.as_deref().unwrap();
        let mut connection = Connection::open(&operator.pods(), name, ADMIN_PORT).await?;
        let scraped = connection.send(Method::GET, "/metrics", None).await?.text;
        let leads = Metrics::parse(&scraped).sum("ragengine_operator_is_leader", &[]);
        assert_eq!(leads > 0.0, pod.metadata.name == acting, "{name}");
    }
    Ok(())
}

async fn spec(operator: &Operator) -> Result<LeaseSpec, Error> {
    Ok(operator.namespace.get::<Lease>(OPERATOR).await?.spec.unwrap())
}

async fn until_another_acts(operator: &Operator, before: &str) -> Result<String, Error> {
    wait::until("another pod holds the lease", async || {
        match operator.holder().await.map_err(|error| error.to_string())? {
            Some(holder) if holder != before => Ok(holder),
            holder => Err(format!("{holder:?} holds it")),
        }
    })
    .await
}

/// Asserts that the holder of the lease repairs objects.
async fn repairs(namespace: &Namespace) -> Result<(), Error> {
    let before: Service = namespace.get("docs").await?;
    namespace.delete::<Service>("docs").await?;
    namespace
        .until::<Service, _>("docs", "the Service is created again", |service| {
            if service.metadata.uid == before.metadata.uid { Err("the old object".to_owned()) } else { Ok(()) }
        })
        .await
}

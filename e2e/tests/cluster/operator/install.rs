use std::panic::{AssertUnwindSafe, resume_unwind};

use futures_util::FutureExt as _;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Service;
use ragengine_e2e::definition::{self, HelmOwnership};
use ragengine_e2e::engine::{self, Engine};
use ragengine_e2e::metrics::Metrics;
use ragengine_e2e::namespace::{Namespace, alone_in_namespace};
use ragengine_e2e::operator::{ADMIN_PORT, OPERATOR, Operator};
use ragengine_e2e::server::{documents, question};
use ragengine_e2e::{Error, cluster_client};
use ragengine_operator_api::RagEngine;
use serde_json::{Value, json};

const SAMPLE: &str = include_str!("../../../../config/samples/ragengine.yaml");

const LUNCH: &str = "Lunch is served at half past twelve in the garden.";
const PARKING: &str = "Bicycles are parked behind the house.";

/// Installs the chart with its defaults: with the definitions, for all namespaces. Runs alone, because such an operator
/// also manages the engines of other tests.
#[tokio::test]
async fn the_unchanged_chart_and_sample_answer_a_question_over_the_service() {
    alone_in_namespace("install", async |namespace| {
        let everywhere = json!({"watchNamespaces": [], "crds": {"install": true}, "rbac": {"aggregate": true}});
        let operator = Operator::prepare(namespace, &everywhere).await?;
        let before = HelmOwnership::read(&namespace.client).await?;
        let outcome = AssertUnwindSafe(async {
            let notes = operator.release.install_and_take_over(&operator.values()).await?;
            assert!(notes.contains("kubectl") && notes.contains("ragengine/docs"), "{notes}");
            operator.until_available().await?;
            use_it(namespace, &operator).await?;
            leave_and_come_back(namespace, &operator).await
        });
        let outcome = outcome.catch_unwind().await;
        // Cluster-wide roles and the definitions' annotations are not deleted with the namespace.
        drop(operator.release.uninstall().await);
        before.restore(&namespace.client).await?;
        outcome.unwrap_or_else(|panic| resume_unwind(panic))
    })
    .await;
}

async fn use_it(namespace: &Namespace, operator: &Operator) -> Result<(), Error> {
    let sample: Value = serde_saphyr::from_str(SAMPLE).unwrap();
    namespace.apply::<RagEngine>("docs", &sample).await?;
    let engine = Engine::named(namespace, "docs");
    let ready = engine.until_ready().await?;
    let endpoint = ready.status.unwrap().endpoint.unwrap();
    assert_eq!(endpoint, engine.url("/v1"));

    let added = documents("house", &[("lunch", LUNCH), ("parking", PARKING)]);
    cluster_client::post_with(namespace, &engine.token_secret(), &engine.url("/index"), &added).await?.ok()?;
    let asked = question("house", "When is lunch served?");
    let answer = cluster_client::post(namespace, &format!("{endpoint}/chat/completions"), &asked).await?.ok()?;
    let content = answer["choices"][0]["message"]["content"].as_str().unwrap();
    assert!(content.contains(&format!("{LUNCH} [1]")), "{answer}");
    assert_eq!(answer["source_nodes"][0]["doc_id"], "lunch", "{answer}");
    let observed = engine.until_status("the status counts the documents", |engine| {
        engine.status.as_ref().is_some_and(|status| (status.indexes, status.documents) == (Some(1), Some(2)))
    });
    assert!(observed.await?.status.unwrap().data_id.is_some());
    scrape(namespace, &engine, operator).await
}

/// Scrapes both over the cluster's network, like Prometheus.
async fn scrape(namespace: &Namespace, engine: &Engine<'_>, operator: &Operator) -> Result<(), Error> {
    let host = namespace.host(&engine.name);
    let engine_s = cluster_client::get(namespace, &format!("http://{host}:{}/metrics", engine::ADMIN_PORT)).await?;
    assert_eq!(Metrics::parse(&engine_s.text).sum("ragengine_index_documents", &[("index", "house")]), 2.0);

    let service = format!("http://{}:{ADMIN_PORT}", operator.namespace.host(&format!("{OPERATOR}-metrics")));
    let metrics = Metrics::parse(&cluster_client::get(namespace, &format!("{service}/metrics")).await?.text);
    assert!(metrics.sum("ragengine_operator_reconciles_total", &[("result", "ok")]) > 0.0, "{metrics:?}");
    assert_eq!(metrics.sum("ragengine_operator_is_leader", &[]), 1.0);
    assert!(metrics.sum("ragengine_operator_objects", &[("kind", "Deployment")]) >= 1.0, "{metrics:?}");
    for path in ["/healthz", "/readyz"] {
        assert_eq!(cluster_client::get(namespace, &format!("{service}{path}")).await?.status, 200, "{path}");
    }
    Ok(())
}

/// After uninstalling, all objects of users stay. After reinstalling, the operator manages them again and restarts
/// nothing.
async fn leave_and_come_back(namespace: &Namespace, operator: &Operator) -> Result<(), Error> {
    let engine = Engine::named(namespace, "docs");
    let (pod, deployment) = (engine.ready_pod().await?, engine.deployment().await?);
    operator.release.uninstall().await?;
    assert!(!operator.namespace.has::<Deployment>(OPERATOR).await?);
    definition::read(&namespace.client).await?;
    assert_eq!(engine.object().await?.metadata.deletion_timestamp, None);
    let still = engine.post("/v1/chat/completions", &question("house", "When is lunch served?")).await?;
    assert_eq!(still.ok()?["source_nodes"][0]["doc_id"], "lunch");

    operator.release.install_and_take_over(&operator.values()).await?;
    operator.until_available().await?;
    // Only a running operator makes this change.
    namespace.delete::<Service>("docs").await?;
    namespace.until::<Service, _>("docs", "the Service is created again", |_| Ok(())).await?;
    engine.until_ready().await?;
    assert_eq!(engine.ready_pod().await?.metadata.uid, pod.metadata.uid);
    assert_eq!(engine.deployment().await?.metadata.generation, deployment.metadata.generation);
    Ok(())
}

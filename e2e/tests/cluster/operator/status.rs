//! The status of an engine that cannot start, and of one that runs.

mod cases;

use std::collections::BTreeMap;

use cases::{Case, cases};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, Event, PersistentVolumeClaim, Service};
use kube::api::ListParams;
use ragengine_e2e::engine::{Engine, condition};
use ragengine_e2e::metrics::Metrics;
use ragengine_e2e::namespace::{Namespace, in_namespace};
use ragengine_e2e::operator::{OPERATOR, Operator};
use ragengine_e2e::{Error, wait};
use ragengine_operator_api::{ConditionStatus, ConditionType, RagEngine};
use serde_json::{Value, json};

#[tokio::test]
async fn an_engine_that_cannot_start_reports_why_and_starts_when_it_can() {
    in_namespace("statuses", async |namespace| {
        let _operator = Operator::install(namespace).await?;
        for Case { name, spec, reason, words } in cases() {
            let engine = Engine::apply(namespace, name, &spec).await?;
            let object = engine.until(ConditionType::Ready, ConditionStatus::False, reason).await?;
            let message = &condition(&object, ConditionType::Ready).unwrap().message;
            assert!(words.iter().all(|words| message.contains(words)), "{name}: {message}");
            let degraded = condition(&object, ConditionType::Degraded).unwrap();
            assert_eq!((degraded.status, degraded.reason), (ConditionStatus::True, reason), "{name}");
            let progressing = condition(&object, ConditionType::Progressing).unwrap();
            assert_eq!(progressing.status, ConditionStatus::False, "{name}");
            has_event(namespace, name, "Warning", &format!("{reason:?}")).await?;
            if name == "claim" {
                claim(namespace, "not-there").await?;
                engine.until_ready().await?;
                has_event(namespace, name, "Normal", "Serving").await?;
            }
            namespace.delete::<RagEngine>(name).await?;
        }
        Ok(())
    })
    .await;
}

async fn claim(namespace: &Namespace, name: &str) -> Result<PersistentVolumeClaim, Error> {
    let size = json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "256Mi"}}});
    let claim = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": size});
    namespace.apply(name, &claim).await
}

async fn has_event(namespace: &Namespace, engine: &str, type_: &str, reason: &str) -> Result<(), Error> {
    let about = format!("involvedObject.kind=RAGEngine,involvedObject.name={engine}");
    let (events, about) = (namespace.api::<Event>(), ListParams::default().fields(&about));
    wait::until(&format!("an event of {engine}: {type_} {reason}"), async || {
        let found = events.list(&about).await.map_err(|error| error.to_string())?.items;
        let is_it = |event: &Event| event.type_.as_deref() == Some(type_) && event.reason.as_deref() == Some(reason);
        let reasons: Vec<_> = found.iter().map(|event| event.reason.clone().unwrap_or_default()).collect();
        if found.iter().any(is_it) { Ok(()) } else { Err(reasons.join(", ")) }
    })
    .await
}

#[tokio::test]
async fn a_status_changes_only_with_its_content_and_then_nothing_is_written() {
    in_namespace("quiet", async |namespace| {
        let operator = Operator::install(namespace).await?;
        let serving = json!({"retrieval": {"maxDistance": 1.1}});
        let engine = Engine::start(namespace, "docs", &serving).await?;
        // The status is written for another reason, and no condition flips.
        let first = engine.object().await?;
        let ignored = json!({"retrieval": {"maxDistance": 1.1}, "embedding": {"local": {"image": "small"}}});
        engine.set(&ignored).await?;
        let observed = engine.until_status("the message names the field without effect", |engine| {
            condition(engine, ConditionType::Ready).is_some_and(|ready| ready.message.contains("image (small)"))
        });
        let observed = observed.await?;
        assert!(observed.metadata.generation > first.metadata.generation);
        assert_eq!(times(&observed), times(&first));

        until_another_second(&operator, &first).await?;
        engine.set(&json!({"replicas": 0})).await?;
        let stopped = engine.until_stopped().await?;
        assert_eq!(times(&stopped)["Degraded"], times(&first)["Degraded"], "nothing was ever wrong");
        assert_eq!(stopped.status.as_ref().unwrap().replicas, 0);

        engine.set(&serving).await?;
        engine.until_ready().await?;
        nothing_is_written(&operator, namespace).await
    })
    .await;
}

/// Waits for a later second by the operator's clock, because conditions have times in whole seconds. The lease shows
/// that clock.
async fn until_another_second(operator: &Operator, since: &RagEngine) -> Result<(), Error> {
    let since = condition(since, ConditionType::Ready).unwrap().last_transition_time.0.as_second();
    let wanted = "the lease was renewed in a later second";
    operator
        .namespace
        .until::<Lease, _>(OPERATOR, wanted, |lease| {
            let renewed = lease.spec.as_ref().and_then(|spec| spec.renew_time.as_ref()).map(|time| time.0.as_second());
            if renewed > Some(since) { Ok(()) } else { Err(format!("{renewed:?}, Ready since {since}")) }
        })
        .await
}

/// The time of the last change of each condition.
fn times(engine: &RagEngine) -> BTreeMap<String, String> {
    let conditions = &engine.status.as_ref().unwrap().conditions;
    conditions.iter().map(|found| (format!("{:?}", found.type_), found.last_transition_time.0.to_string())).collect()
}

/// Waits until pending work is done. Then touches objects without a real change, and asserts that the operator
/// reconciles and writes nothing.
async fn nothing_is_written(operator: &Operator, namespace: &Namespace) -> Result<(), Error> {
    let quiet = until_quiet(operator).await?;
    let note = json!({"metadata": {"annotations": {"example.com/note": "of the user"}}});
    namespace.change::<RagEngine>("docs", &note).await?;
    namespace.change::<Service>("docs", &note).await?;
    namespace.change::<ConfigMap>("docs-settings", &note).await?;
    let reconciles = |metrics: &Metrics| metrics.sum("ragengine_operator_reconciles_total", &[]);
    wait::until("the engine is looked at again", async || {
        let now = operator.metrics().await.map_err(|error| error.to_string())?;
        if reconciles(&now) > reconciles(&quiet) { Ok(()) } else { Err(format!("{} reconciles", reconciles(&now))) }
    })
    .await?;
    assert_eq!(writes(&until_quiet(operator).await?), writes(&quiet));
    Ok(())
}

/// Waits until the lease was renewed twice, which takes some seconds, without another write in between.
async fn until_quiet(operator: &Operator) -> Result<Metrics, Error> {
    const REQUESTS: &str = "ragengine_operator_kubernetes_requests_total";
    let renewals = |metrics: &Metrics| metrics.sum(REQUESTS, &[("resource", "leases"), ("verb", "update")]);
    let mut before: Option<Metrics> = None;
    wait::until("the lease is renewed twice while nothing else is written", async || {
        let now = operator.metrics().await.map_err(|error| error.to_string())?;
        let seen = format!("{:?}, {} renewals", writes(&now), renewals(&now));
        match before.take().filter(|before| writes(before) == writes(&now)) {
            Some(before) if renewals(&now) >= renewals(&before) + 2.0 => return Ok(now),
            Some(still) => before = Some(still),
            None => before = Some(now),
        }
        Err(seen)
    })
    .await
}

/// The number of writes, by request.
fn writes(metrics: &Metrics) -> BTreeMap<String, String> {
    let samples = metrics.of("ragengine_operator_kubernetes_requests_total").filter(|sample| {
        !["get", "list", "watch"].contains(&sample.labels["verb"].as_str()) && sample.labels["resource"] != "leases"
    });
    samples.map(|sample| (json!(sample.labels).to_string(), Value::from(sample.value).to_string())).collect()
}

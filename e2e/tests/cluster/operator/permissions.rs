//! The chart grants what the operator asks for, and no more.

use std::collections::BTreeSet;

use k8s_openapi::api::rbac::v1::PolicyRule;
use ragengine_e2e::engine::Engine;
use ragengine_e2e::helm::chart_file;
use ragengine_e2e::metrics::Metrics;
use ragengine_e2e::namespace::{Namespace, in_namespace};
use ragengine_e2e::operator::Operator;
use ragengine_e2e::{Error, wait};
use ragengine_operator_api::{RagEngine, Reason};
use serde::Deserialize;
use serde_json::json;

/// Verb, group and resource.
type Permission = (String, String, String);

#[derive(Deserialize)]
struct Granted {
    watched: Vec<PolicyRule>,
    own: Vec<PolicyRule>,
}

#[tokio::test]
async fn everything_that_is_granted_is_asked_for_and_nothing_else() {
    in_namespace("permissions", async |namespace| {
        let operator = Operator::install(namespace).await?;
        drive_through_everything(namespace).await?;
        let granted: Granted = serde_saphyr::from_str(&chart_file("files/permissions.yaml")?).unwrap();
        let granted: BTreeSet<Permission> = granted.watched.iter().chain(&granted.own).flat_map(permissions).collect();
        wait::until("every permission was used", async || {
            let metrics = operator.metrics().await.map_err(|error| error.to_string())?;
            let unused: Vec<_> = granted.difference(&asked(&metrics)).cloned().collect();
            if unused.is_empty() { Ok(()) } else { Err(format!("never asked for: {unused:?}")) }
        })
        .await?;
        let metrics = operator.metrics().await?;
        let ungranted: Vec<_> = asked(&metrics).difference(&granted).cloned().collect();
        assert!(ungranted.is_empty(), "asked for and not granted: {ungranted:?}");
        let refused = [("status", "403")];
        assert_eq!(metrics.sum("ragengine_operator_kubernetes_requests_total", &refused), 0.0, "{metrics:?}");
        Ok(())
    })
    .await;
}

/// Whatever the operator does for a resource, done once.
async fn drive_through_everything(namespace: &Namespace) -> Result<(), Error> {
    let storage = json!({"persistentVolume": {"size": "1Gi"}});
    let nowhere = json!({"labelSelector": {"matchLabels": {"example.com/no": "node"}}});
    // A pod that does not begin, whose events are read; a token and a policy, which are taken away again.
    let stuck = json!({"storage": storage, "networkPolicy": {}, "compute": nowhere});
    let engine = Engine::apply(namespace, "docs", &stuck).await?;
    engine.until_not_ready(Reason::PodUnschedulable).await?;
    let stopped = json!({"replicas": 0, "storage": storage, "auth": {"writes": "open"}});
    engine.set(&stopped).await?;
    engine.until_not_ready(Reason::Stopped).await?;
    // The same events again.
    engine.set(&stuck).await?;
    engine.until_not_ready(Reason::PodUnschedulable).await?;
    engine.set(&stopped).await?;
    engine.until_not_ready(Reason::Stopped).await?;
    namespace.delete::<RagEngine>("docs").await
}

fn permissions(rule: &PolicyRule) -> Vec<Permission> {
    let (groups, resources) = (rule.api_groups.iter().flatten(), rule.resources.iter().flatten());
    let pairs = groups.flat_map(|group| resources.clone().map(move |resource| (group, resource)));
    let all = pairs.flat_map(|(group, resource)| {
        rule.verbs.iter().map(move |verb| (verb.clone(), group.clone(), resource.clone()))
    });
    all.collect()
}

/// What was asked for. To apply an object that is not there is to create it, which the API server wants to be granted besides.
fn asked(metrics: &Metrics) -> BTreeSet<Permission> {
    let samples = metrics.of("ragengine_operator_kubernetes_requests_total");
    let permissions = samples.flat_map(|sample| {
        let label = |name: &str| sample.labels[name].clone();
        let asked = (label("verb"), label("group"), label("resource"));
        let created = (label("verb") == "patch" && label("status") == "201")
            .then(|| ("create".to_owned(), label("group"), label("resource")));
        [Some(asked), created].into_iter().flatten()
    });
    permissions.collect()
}

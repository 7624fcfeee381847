//! The chart grants exactly the permissions that the operator uses.

use std::collections::BTreeSet;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec, SubjectAccessReviewStatus,
};
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::api::batch::v1::CronJob;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::networking::v1::Ingress;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::rbac::v1::PolicyRule;
use kube::Api;
use kube::api::PostParams;
use ragengine_e2e::engine::Engine;
use ragengine_e2e::helm::chart_file;
use ragengine_e2e::index::{Index, texts};
use ragengine_e2e::metrics::Metrics;
use ragengine_e2e::namespace::{Namespace, PodSecurity, in_namespace};
use ragengine_e2e::operator::{OPERATOR, Operator};
use ragengine_e2e::{Error, wait};
use ragengine_operator_api::{INDEX_FINALIZER, RAG_ENGINE_FINALIZER, RagEngine, Reason};
use serde::Deserialize;
use serde_json::{Value, json};

/// Verb, group and resource.
type Permission = (String, String, String);

#[derive(Deserialize)]
struct Granted {
    watched: Vec<PolicyRule>,
    own: Vec<PolicyRule>,
    api_server: Vec<PolicyRule>,
}

#[tokio::test]
async fn the_operator_uses_exactly_the_granted_permissions() {
    in_namespace("permissions", async |namespace| {
        let operator = Operator::install(namespace).await?;
        drive_through_everything(namespace).await?;
        let granted: Granted = serde_saphyr::from_str(&chart_file("files/permissions.yaml")?).unwrap();
        let rules = granted.watched.iter().chain(&granted.own).chain(&granted.api_server);
        // Clusters of tests have no Gateway API.
        let is_there = |(_, _, resource): &Permission| resource != "httproutes";
        let granted: BTreeSet<Permission> = rules.flat_map(permissions).filter(is_there).collect();
        wait::until("every permission was used", async || {
            let metrics = operator.metrics().await.map_err(|error| error.to_string())?;
            let unused: Vec<_> = granted.difference(&asked(&metrics)).cloned().collect();
            if unused.is_empty() { Ok(()) } else { Err(format!("not used: {unused:?}")) }
        })
        .await?;
        let metrics = operator.metrics().await?;
        let ungranted: Vec<_> = asked(&metrics).difference(&granted).cloned().collect();
        assert!(ungranted.is_empty(), "used and not granted: {ungranted:?}");
        let refused = [("status", "403")];
        assert_eq!(metrics.sum("ragengine_operator_kubernetes_requests_total", &refused), 0.0, "{metrics:?}");
        Ok(())
    })
    .await;
}

/// Makes the operator do everything that it can do for a resource.
async fn drive_through_everything(namespace: &Namespace) -> Result<(), Error> {
    let storage = json!({"persistentVolume": {"size": "1Gi"}});
    let nowhere = json!({"labelSelector": {"matchLabels": {"example.com/no": "node"}}});
    // The events of a pod that does not start are read. A token and a policy are created and deleted.
    let stuck = json!({"storage": storage, "networkPolicy": {}, "compute": nowhere});
    let engine = Engine::apply(namespace, "docs", &stuck).await?;
    engine.until_not_ready(Reason::PodUnschedulable).await?;
    let stopped = json!({"replicas": 0, "storage": storage, "auth": {"writes": "open"}});
    engine.set(&stopped).await?;
    engine.until_stopped().await?;
    // The same events are read again.
    engine.set(&stuck).await?;
    engine.until_not_ready(Reason::PodUnschedulable).await?;
    engine.set(&stopped).await?;
    engine.until_stopped().await?;
    guard(namespace, &engine, &stopped).await?;
    back_up(namespace, &engine, &stopped).await?;
    share(namespace).await?;
    fill_an_index(namespace, &engine).await?;
    // An engine with an invalid specification, which is to be stopped.
    let wrong = json!({"allowedOrigins": ["https://chat.example:x"]});
    engine.set(&json!({"replicas": 0, "storage": storage, "cors": wrong})).await?;
    namespace
        .until::<Deployment, _>("docs", "it is stopped", |deployment| {
            let replicas = deployment.spec.as_ref().and_then(|spec| spec.replicas);
            if replicas == Some(0) { Ok(()) } else { Err(format!("{replicas:?}")) }
        })
        .await?;
    // As if nodes had been made for it.
    let held = json!({"metadata": {"finalizers": [RAG_ENGINE_FINALIZER]}});
    namespace.change::<RagEngine>("docs", &held).await?;
    namespace.delete::<RagEngine>("docs").await?;
    namespace.until_gone::<RagEngine>("docs").await
}

/// Gives an engine known callers and an Ingress, and takes both away again.
async fn guard(namespace: &Namespace, engine: &Engine<'_>, stopped: &Value) -> Result<(), Error> {
    for host in ["docs.example.com", "handbook.example.com"] {
        let mut guarded = stopped.clone();
        guarded["auth"] = json!({"modes": ["jwt"]});
        guarded["ingress"] = json!({"host": host});
        engine.set(&guarded).await?;
        namespace.until::<ConfigMap, _>("docs-auth", "it is there", |_| Ok(())).await?;
        let has_host = |ingress: &Ingress| {
            let rules = ingress.spec.iter().flat_map(|spec| spec.rules.iter().flatten());
            let hosts: Vec<&str> = rules.filter_map(|rule| rule.host.as_deref()).collect();
            if hosts == [host] { Ok(()) } else { Err(format!("{hosts:?}")) }
        };
        namespace.until::<Ingress, _>("docs", "it has the host", has_host).await?;
    }
    engine.set(stopped).await?;
    namespace.until_gone::<ConfigMap>("docs-auth").await?;
    namespace.until_gone::<Ingress>("docs").await
}

/// Gives an engine backups, and takes them away again.
async fn back_up(namespace: &Namespace, engine: &Engine<'_>, stopped: &Value) -> Result<(), Error> {
    for schedule in ["0 1 * * *", "0 2 * * *"] {
        let mut backed_up = stopped.clone();
        backed_up["backup"] = json!({"schedule": schedule, "persistentVolumeClaim": {"claimName": "backups"}});
        engine.set(&backed_up).await?;
        let has_schedule = |cron_job: &CronJob| match &cron_job.spec {
            Some(spec) if spec.schedule == schedule => Ok(()),
            spec => Err(format!("{spec:?}")),
        };
        namespace.until::<CronJob, _>("docs-backup", "it has the schedule", has_schedule).await?;
    }
    engine.set(stopped).await?;
    namespace.until_gone::<CronJob>("docs-backup").await
}

/// Gives an engine several pods, which do not start, and takes them away again.
async fn share(namespace: &Namespace) -> Result<(), Error> {
    let mut shared = json!({
        "storage": {"vectorDB": {"engine": "weaviate", "url": "http://weaviate:8080"}},
        "postgres": {"url": "postgres://rag@postgres/rag"},
        "sessions": {"store": "postgres"},
        "feedback": {"store": "postgres"},
        "compute": {"labelSelector": {"matchLabels": {"example.com/no": "node"}}},
        "autoscaling": {"maxReplicas": 2},
    });
    let engine = Engine::apply(namespace, "shared", &shared).await?;
    namespace.until::<PodDisruptionBudget, _>("shared", "it is there", |_| Ok(())).await?;
    for most in [2, 3] {
        shared["autoscaling"]["maxReplicas"] = json!(most);
        engine.set(&shared).await?;
        let has_most = |autoscaler: &HorizontalPodAutoscaler| match &autoscaler.spec {
            Some(spec) if spec.max_replicas == most => Ok(()),
            spec => Err(format!("{spec:?}")),
        };
        namespace.until::<HorizontalPodAutoscaler, _>("shared", "it has the maximum", has_most).await?;
    }
    shared["replicas"] = json!(0);
    engine.set(&shared).await?;
    namespace.until_gone::<HorizontalPodAutoscaler>("shared").await?;
    namespace.until_gone::<PodDisruptionBudget>("shared").await?;
    namespace.delete::<RagEngine>("shared").await
}

/// Runs a Job that does not start and is deleted, one that fills the Index, and one that empties it.
async fn fill_an_index(namespace: &Namespace, engine: &Engine<'_>) -> Result<(), Error> {
    engine.set(&json!({"storage": {"persistentVolume": {"size": "1Gi"}}})).await?;
    engine.until_ready().await?;
    let documents = json!({"documents": [{"path": "moon.md", "text": "The moon is grey."}]});
    let spec = |cpu: &str| {
        let resources = json!({"requests": {"cpu": cpu}});
        let source = json!({"name": "here", "inline": documents});
        json!({"engineRef": {"name": "docs"}, "sources": [source], "resources": resources})
    };
    let index = Index::apply(namespace, "sky", &spec("5000")).await?;
    index.until_not_ready(Reason::PodUnschedulable).await?;
    let mut sooner = spec("10m");
    sooner["sources"][0]["metadata"] = json!({"team": "sky"});
    index.set(&sooner).await?;
    index.until_synced().await?;
    // Earlier versions used this finalizer.
    let held = json!({"metadata": {"finalizers": [INDEX_FINALIZER]}});
    namespace.change::<ragengine_operator_api::Index>("sky", &held).await?;
    namespace.delete::<ragengine_operator_api::Index>("sky").await?;
    namespace.until_gone::<ragengine_operator_api::Index>("sky").await?;
    wait::until("its documents are deleted", async || match texts(engine, "sky").await {
        Ok(found) if found.is_empty() => Ok(()),
        found => Err(format!("{found:?}")),
    })
    .await
}

#[tokio::test]
async fn an_operator_for_two_namespaces_manages_both_and_has_no_rights_elsewhere() {
    in_namespace("two", async |namespace| {
        let other = namespace.beside("other", PodSecurity::Restricted).await?;
        let elsewhere = namespace.beside("elsewhere", PodSecurity::Restricted).await?;
        let both = json!({"watchNamespaces": [namespace.name, other.name]});
        let operator = Operator::install_with(namespace, &both).await?;
        let left_alone = Engine::apply(&elsewhere, "docs", &json!({"replicas": 0})).await?;
        for watched in [namespace, &other] {
            let engine = Engine::apply(watched, "docs", &json!({"replicas": 0})).await?;
            engine.until_stopped().await?;
        }
        assert!(may_list_secrets(&operator, &other).await?);
        for namespace in [&elsewhere, &operator.namespace] {
            assert!(!may_list_secrets(&operator, namespace).await?, "{}", namespace.name);
        }
        assert_eq!(left_alone.object().await?.status, None);
        Ok(())
    })
    .await;
}

/// Whether the operator's service account may list Secrets in a namespace.
async fn may_list_secrets(operator: &Operator, namespace: &Namespace) -> Result<bool, Error> {
    let secrets = ResourceAttributes {
        namespace: Some(namespace.name.clone()),
        resource: Some("secrets".to_owned()),
        verb: Some("list".to_owned()),
        ..ResourceAttributes::default()
    };
    let review = SubjectAccessReview {
        spec: SubjectAccessReviewSpec {
            resource_attributes: Some(secrets),
            user: Some(format!("system:serviceaccount:{}:{OPERATOR}", operator.namespace.name)),
            ..SubjectAccessReviewSpec::default()
        },
        ..SubjectAccessReview::default()
    };
    let reviewing = Api::all(namespace.client.clone()).create(&PostParams::default(), &review).await;
    let status = reviewing.map_err(Error::kubernetes("asking what the operator may do"))?.status;
    Ok(status.is_some_and(|status: SubjectAccessReviewStatus| status.allowed))
}

fn permissions(rule: &PolicyRule) -> Vec<Permission> {
    let (groups, resources) = (rule.api_groups.iter().flatten(), rule.resources.iter().flatten());
    let pairs = groups.flat_map(|group| resources.clone().map(move |resource| (group, resource)));
    let all = pairs.flat_map(|(group, resource)| {
        rule.verbs.iter().map(move |verb| (verb.clone(), group.clone(), resource.clone()))
    });
    all.collect()
}

/// Returns the permissions that were used. To apply an object that does not exist also needs the permission to create
/// it.
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

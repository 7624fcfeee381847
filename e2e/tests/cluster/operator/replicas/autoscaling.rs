use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use ragengine_e2e::Error;
use ragengine_e2e::engine::Engine;
use ragengine_e2e::namespace::{Namespace, in_namespace};
use ragengine_e2e::operator::Operator;
use serde_json::{Value, json};

/// An engine whose pods find no node, because only objects are tested. No database is needed then.
fn spec(more: &Value, note: &str) -> Value {
    let mut spec = json!({
        "storage": {"vectorDB": {"engine": "weaviate", "url": "http://weaviate:8080"}},
        "postgres": {"url": "postgres://rag@postgres/rag"},
        "sessions": {"store": "postgres"},
        "feedback": {"store": "postgres"},
        "podTemplate": {
            "metadata": {"annotations": {"example.com/note": note}},
            "spec": {"nodeSelector": {"example.com/no-node": "has-this"}},
        },
    });
    let fields = more.as_object().cloned().unwrap_or_default();
    spec.as_object_mut().unwrap().extend(fields);
    spec
}

async fn until_replicas(namespace: &Namespace, replicas: i32, note: &str) -> Result<(), Error> {
    let wanted = format!("{replicas} replicas with the note {note}");
    namespace
        .until("docs", &wanted, |deployment: &Deployment| {
            let spec = deployment.spec.clone().unwrap_or_default();
            let annotations = spec.template.metadata.and_then(|metadata| metadata.annotations).unwrap_or_default();
            let noted = annotations.get("example.com/note").map(String::as_str);
            let is_wanted = spec.replicas == Some(replicas) && noted == Some(note);
            if is_wanted { Ok(()) } else { Err(format!("{:?} with the note {noted:?}", spec.replicas)) }
        })
        .await
}

#[tokio::test]
async fn the_number_of_pods_is_left_to_an_autoscaler_until_it_is_removed() {
    in_namespace("autoscaling", async |namespace| {
        let _operator = Operator::install(namespace).await?;
        let scaled = json!({"autoscaling": {"minReplicas": 2, "maxReplicas": 5, "targetCPUUtilizationPercentage": 60}});
        let engine = Engine::apply(namespace, "docs", &spec(&scaled, "one")).await?;
        engine.until_status("all objects are created", |_| true).await?;
        let autoscaler: HorizontalPodAutoscaler = namespace.get("docs").await?;
        let autoscaler = serde_json::to_value(autoscaler.spec).unwrap();
        assert_eq!(
            autoscaler["scaleTargetRef"],
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "docs"})
        );
        assert_eq!((&autoscaler["minReplicas"], &autoscaler["maxReplicas"]), (&json!(2), &json!(5)));
        let cpu = &autoscaler["metrics"][0]["resource"];
        assert_eq!(cpu, &json!({"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 60}}));
        let budget: PodDisruptionBudget = namespace.get("docs").await?;
        assert_eq!(serde_json::to_value(budget.spec).unwrap()["maxUnavailable"], 1);

        // Kubernetes itself keeps to the bounds without metrics, and leaves a number between them.
        until_replicas(namespace, 2, "one").await?;
        namespace.change::<Deployment>("docs", &json!({"spec": {"replicas": 4}})).await?;
        engine.set(&spec(&scaled, "two")).await?;
        until_replicas(namespace, 4, "two").await?;
        engine.until_status("the change is observed", |_| true).await?;
        until_replicas(namespace, 4, "two").await?;

        engine.set(&spec(&json!({"replicas": 1}), "three")).await?;
        until_replicas(namespace, 1, "three").await?;
        namespace.until_gone::<HorizontalPodAutoscaler>("docs").await?;
        namespace.until_gone::<PodDisruptionBudget>("docs").await
    })
    .await;
}

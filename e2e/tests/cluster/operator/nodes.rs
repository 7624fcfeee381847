//! Nodes of a machine type: NodeClaims where the cluster has Karpenter, nodes that exist where it has not. Karpenter is
//! played by the test, with its real definition.

use std::panic::{AssertUnwindSafe, resume_unwind};

use futures_util::FutureExt as _;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Service;
use kube::api::{Patch, PatchParams};
use ragengine_e2e::Error;
use ragengine_e2e::engine::{Engine, condition};
use ragengine_e2e::karpenter::Karpenter;
use ragengine_e2e::namespace::{Namespace, Object, alone_in_namespace, in_namespace};
use ragengine_e2e::operator::Operator;
use ragengine_operator_api::{ConditionType, RAG_ENGINE_FINALIZER, RagEngine, Reason};
use serde_json::{Value, json};

const SAMPLE: &str = include_str!("../../../../config/samples/ragengine-gpu.yaml");
const INSTANCE_TYPE: &str = "node.kubernetes.io/instance-type";
const NODE_OF: &str = "ragengine.dev/node-of";

/// Runs alone, because the definition of NodeClaims and the labels of the node are for all tests.
#[tokio::test]
async fn an_engine_gets_its_node_from_karpenter_while_the_cluster_has_it() {
    alone_in_namespace("nodes", async |namespace| {
        let karpenter = Karpenter::find(&namespace.client).await?;
        let node_class = json!({"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"});
        let operator = Operator::install_with(namespace, &json!({"karpenter": {"nodeClass": node_class}})).await?;
        let outcome = AssertUnwindSafe(async {
            without_karpenter(namespace).await?;
            karpenter.install().await?;
            with_karpenter(namespace, &karpenter).await?;
            karpenter_is_removed(namespace, &karpenter).await
        });
        let outcome = outcome.catch_unwind().await;
        drop(karpenter.label_node(&json!({INSTANCE_TYPE: null, NODE_OF: null})).await);
        drop(karpenter.remove().await);
        // The role for NodeClaims is not deleted with the namespace.
        drop(operator.release.uninstall().await);
        outcome.unwrap_or_else(|panic| resume_unwind(panic))
    })
    .await;
}

fn large(count: u32) -> Value {
    let labels = json!({"matchLabels": {"example.com/team": "search"}});
    json!({"compute": {"instanceType": "g6.xlarge", "count": count, "labelSelector": labels}})
}

/// The engine of this phase stays: Karpenter is installed while the operator runs.
async fn without_karpenter(namespace: &Namespace) -> Result<(), Error> {
    let engine = Engine::apply(namespace, "docs", &large(1)).await?;
    let message = engine.until_not_ready(Reason::PodUnschedulable).await?;
    assert!(message.contains("the cluster has no NodeClaims (karpenter.sh/v1): install Karpenter"), "{message}");
    let nodes = json!({"example.com/team": "search", INSTANCE_TYPE: "g6.xlarge"});
    assert_eq!(pod(&engine.deployment().await?)["nodeSelector"], nodes);
    assert!(engine.object().await?.metadata.finalizers.is_none());
    Ok(())
}

async fn with_karpenter(namespace: &Namespace, karpenter: &Karpenter) -> Result<(), Error> {
    let engine = Engine::named(namespace, "docs");
    let claim = karpenter.until_claims(1).await?.remove(0);
    let name = claim["metadata"]["name"].as_str().unwrap();
    let uid = engine.object().await?.metadata.uid.unwrap();
    assert_eq!(claim["metadata"]["labels"][NODE_OF], json!(uid));
    assert_eq!(claim["metadata"]["labels"]["example.com/team"], "search");
    assert_eq!(claim["spec"]["nodeClassRef"]["kind"], "EC2NodeClass");
    assert_eq!(claim["spec"]["taints"], json!([{"key": "sku", "value": "gpu", "effect": "NoSchedule"}]));
    let wanted = json!({"key": INSTANCE_TYPE, "operator": "In", "values": ["g6.xlarge"]});
    assert!(claim["spec"]["requirements"].as_array().unwrap().contains(&wanted), "{claim}");
    engine.until_not_ready(Reason::NodeNotReady).await?;
    let held = engine.object().await?.metadata.finalizers;
    assert_eq!(held, Some(vec![RAG_ENGINE_FINALIZER.to_owned()]));

    let now = "2026-11-22T09:00:00Z";
    let failed = |message: &str| {
        json!([{
            "type": "Launched", "status": "Unknown", "reason": "LaunchFailed", "message": message,
            "lastTransitionTime": now,
        }])
    };
    karpenter.says(name, failed("insufficient capacity"), None).await?;
    let reported = engine.until_status("Karpenter's words", |engine| {
        let degraded = condition(engine, ConditionType::Degraded).unwrap();
        degraded.message.contains(&format!("NodeClaim {name} gets no node (LaunchFailed: insufficient capacity)"))
    });
    reported.await?;

    let node =
        karpenter.label_node(&json!({INSTANCE_TYPE: "g6.xlarge", NODE_OF: uid, "example.com/team": "search"})).await?;
    let steps = ["Launched", "Registered", "Initialized", "Ready"];
    let done = steps.map(|step| json!({"type": step, "status": "True", "reason": step, "lastTransitionTime": now}));
    karpenter.says(name, json!(done), Some(&node)).await?;
    let ready = engine.until_ready().await?;
    assert_eq!(ready.status.unwrap().worker_nodes, [node]);

    // A further node is another NodeClaim; the first one stays.
    engine.set(&large(2)).await?;
    let two = karpenter.until_claims(2).await?;
    assert!(two.iter().any(|found| found["metadata"]["uid"] == claim["metadata"]["uid"]), "{two:?}");
    engine.set(&large(1)).await?;
    let one = karpenter.until_claims(1).await?;
    assert_eq!(one[0]["metadata"]["uid"], claim["metadata"]["uid"]);
    let mut larger = large(1);
    larger["compute"]["instanceType"] = json!("g6.2xlarge");
    engine.set(&larger).await?;
    let other = engine.until_status("another machine type", |engine| {
        condition(engine, ConditionType::Ready).is_some_and(|ready| ready.reason == Reason::NodeNotReady)
    });
    other.await?;
    // The pod of an engine with a volume ends before the next one starts, so the old node may be gone already.
    let new = karpenter.until_claim_besides(&claim["metadata"]["uid"]).await?;
    let done = steps.map(|step| json!({"type": step, "status": "True", "reason": step, "lastTransitionTime": now}));
    karpenter.says(new["metadata"]["name"].as_str().unwrap(), json!(done), None).await?;
    let one = karpenter.until_claims(1).await?;
    assert_eq!(one[0]["metadata"]["uid"], new["metadata"]["uid"]);

    namespace.delete::<RagEngine>("docs").await?;
    namespace.until_gone::<RagEngine>("docs").await?;
    karpenter.until_claims(0).await.map(drop)
}

async fn karpenter_is_removed(namespace: &Namespace, karpenter: &Karpenter) -> Result<(), Error> {
    Engine::apply(namespace, "docs", &large(1)).await?;
    karpenter.until_claims(1).await?;
    karpenter.remove().await?;
    namespace.delete::<RagEngine>("docs").await?;
    namespace.until_gone::<RagEngine>("docs").await
}

fn pod(deployment: &Deployment) -> Value {
    json!(deployment.spec.as_ref().unwrap().template.spec)
}

/// The embedding server of the sample cannot run here, so the API server only says whether it takes it.
#[tokio::test]
async fn the_sample_for_a_gpu_is_accepted_whole() {
    in_namespace("gpu-sample", async |namespace| {
        Operator::prepare(namespace, &json!({})).await?;
        let mut documents = SAMPLE.split("\n---\n").map(|text| serde_saphyr::from_str::<Value>(text).unwrap());
        let mut next = || documents.next().unwrap();
        let (server, service, engine) = (next(), next(), next());
        let kept = dry_run::<Deployment>(namespace, &server).await?;
        assert_eq!(pod(&kept)["containers"][0]["resources"]["limits"]["nvidia.com/gpu"], "1");
        let kept = dry_run::<Service>(namespace, &service).await?;
        let url = format!("http://{}/v1", kept.metadata.name.unwrap());
        let kept = dry_run::<RagEngine>(namespace, &engine).await?;
        assert_eq!(kept.spec.embedding().remote.unwrap().url, url);
        // A pod of the Deployment is one that the namespace allows: Pod Security refuses pods, not Deployments.
        let template = &server["spec"]["template"];
        let mut pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "embeddings"}});
        pod["spec"] = template["spec"].clone();
        dry_run::<k8s_openapi::api::core::v1::Pod>(namespace, &pod).await.map(drop)
    })
    .await;
}

async fn dry_run<K: Object>(namespace: &Namespace, object: &Value) -> Result<K, Error> {
    let name = object["metadata"]["name"].as_str().unwrap();
    let parameters = PatchParams { dry_run: true, ..PatchParams::apply("e2e-user") };
    let applying = namespace.api::<K>().patch(name, &parameters, &Patch::Apply(object)).await;
    applying.map_err(Error::kubernetes(format!("trying to apply {name}")))
}

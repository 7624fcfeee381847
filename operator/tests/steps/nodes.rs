//! The nodes of engines with a machine type: NodeClaims of Karpenter, or nodes that the cluster has.

mod deletion;
mod faults;

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::PodSpec;
use ragengine_operator::defaults::{Defaults, NodeLimits};
use ragengine_operator::karpenter::NodeClaim;
use ragengine_operator::rag_engine::build::build;
use ragengine_operator::rag_engine::nodes::ObservedNodes;
use ragengine_operator::rollouts::Rollouts;
use ragengine_operator_api::{ConditionType, RAG_ENGINE_FINALIZER, RagEngine, Reason};
use serde_json::{Value, json};

use crate::api_server::{ApiServer, Karpenter, pass};
use crate::controller::{
    A_WHILE, Controller, LONG, condition, manifest, object_writes, server_with, status, until, writes,
};
use crate::fixture::{all_there, built, defaults, engine, node_class, valid};
use crate::index::pods_of_jobs;

const LARGE: &str = "{compute: {instanceType: large}}";

/// A controller that makes nodes.
fn start(server: &ApiServer) -> Controller {
    Controller::start_with(server, Defaults { node_class: Some(node_class()), ..defaults() })
}

/// A cluster with Karpenter and an engine.
fn karpenter_with(spec: &str) -> ApiServer {
    let server = server_with(&engine(spec));
    server.has_karpenter(Karpenter::Present);
    server
}

fn claims(server: &ApiServer) -> Vec<String> {
    server.names("nodeclaims")
}

async fn until_claims(server: &ApiServer, count: usize) -> Vec<String> {
    until(&format!("{count} NodeClaims"), server, || claims(server).len() == count).await;
    claims(server)
}

fn set(server: &ApiServer, spec: &str) {
    server.edit("ragengines", "docs", |object| object["spec"] = json!(engine(spec).spec));
}

fn finalizers(server: &ApiServer) -> Vec<String> {
    let engine = server.get("ragengines", "docs").unwrap();
    serde_json::from_value(engine["metadata"]["finalizers"].clone()).unwrap_or_default()
}

fn node_selector(server: &ApiServer) -> Value {
    server.get("deployments", "docs").unwrap()["spec"]["template"]["spec"]["nodeSelector"].clone()
}

/// Karpenter has nodes for all NodeClaims.
fn all_are_ready(server: &ApiServer) {
    for claim in claims(server) {
        conditions(
            server,
            &claim,
            json!([{"type": "Launched", "status": "True"}, {"type": "Ready", "status": "True"}]),
        );
    }
}

/// What Karpenter writes about a NodeClaim.
fn conditions(server: &ApiServer, claim: &str, conditions: Value) {
    server.edit("nodeclaims", claim, |object| {
        let is_ready = conditions.as_array().unwrap().len() > 1;
        let node = is_ready.then(|| format!("node-of-{claim}"));
        object["status"] = json!({"conditions": conditions, "nodeName": node});
    });
}

#[test]
fn a_node_claim_asks_for_what_the_engine_needs() {
    let labels = "{disk: ssd, topology.kubernetes.io/zone: a, node.kubernetes.io/instance-type: other}";
    let spec = format!("{{compute: {{instanceType: large, labelSelector: {{matchLabels: {labels}}}}}}}");
    insta::assert_yaml_snapshot!(built(&engine(&spec)).node_claims);
}

#[test]
fn names_differ_where_claims_do() {
    let names = |engine: &RagEngine| -> BTreeSet<String> {
        built(engine).node_claims.iter().map(|claim| claim.name().to_owned()).collect()
    };
    let mut all = BTreeSet::new();
    let mut elsewhere = engine(LARGE);
    elsewhere.metadata.namespace = Some("other".to_owned());
    elsewhere.metadata.uid = Some("another-uid".to_owned());
    let others = [
        LARGE,
        "{compute: {instanceType: larger}}",
        "{compute: {instanceType: large, labelSelector: {matchLabels: {disk: ssd}}}}",
        "{compute: {instanceType: large, labelSelector: {matchLabels: {kubernetes.io/arch: arm64}}}}",
    ];
    for engine in others.map(engine).iter().chain([&elsewhere]) {
        let found = names(engine);
        assert_eq!(found.len(), 1);
        assert_eq!(found, names(engine), "the same every time");
        all.extend(found);
    }
    let three = names(&engine("{compute: {instanceType: large, count: 3}}"));
    assert!(three.len() == 3 && three.is_superset(&names(&engine(LARGE))));
    all.extend(three);
    assert_eq!(all.len(), others.len() + 1 + 2, "{all:?}");
    for name in all {
        let is_taken = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        assert!(name.len() == 12 && name.starts_with('r') && name.bytes().all(is_taken), "{name}");
    }
    assert!(
        names(&engine("{}")).is_empty() && names(&engine("{replicas: 0, compute: {instanceType: large}}")).is_empty()
    );
}

#[test]
fn every_pod_tolerates_the_taints_of_nodes_with_gpus() {
    let keys = |pod: &PodSpec| -> Vec<String> {
        pod.tolerations.iter().flatten().filter_map(|toleration| toleration.key.clone()).collect()
    };
    const OWN: &str =
        "{compute: {instanceType: large}, podTemplate: {spec: {containers: [], tolerations: [{key: a}]}}}";
    for (spec, expected) in
        [("{}", &[][..]), (LARGE, &["sku", "nvidia.com/gpu"]), (OWN, &["a", "sku", "nvidia.com/gpu"])]
    {
        let server = built(&engine(spec)).deployment.unwrap().spec.unwrap().template.spec.unwrap();
        assert_eq!(keys(&server), expected, "{spec}");
        for (purpose, pod) in pods_of_jobs(spec, &defaults()) {
            assert_eq!(keys(&pod), expected, "{purpose} of {spec}");
        }
    }
}

#[test]
fn without_karpenter_the_pod_selects_nodes_that_exist() {
    let validated = valid(&engine("{compute: {instanceType: large, labelSelector: {matchLabels: {disk: ssd}}}}"));
    let mut observed = all_there(&validated);
    let selector = |desired: ragengine_operator::rag_engine::build::Desired| {
        json!(desired.deployment.unwrap().spec.unwrap().template.spec.unwrap().node_selector)
    };
    let ours = json!({"disk": "ssd", "node.kubernetes.io/instance-type": "large", "ragengine.dev/node-of": "uid-of-the-engine"});
    assert_eq!(selector(build(&validated, &observed, &defaults()).unwrap()), ours);
    observed.nodes = ObservedNodes::default();
    let desired = build(&validated, &observed, &defaults()).unwrap();
    assert!(desired.node_claims.is_empty());
    assert_eq!(selector(desired), json!({"disk": "ssd", "node.kubernetes.io/instance-type": "large"}));
}

#[tokio::test(start_paused = true)]
async fn a_node_claim_is_made_once_and_followed() {
    let server = karpenter_with(LARGE);
    let controller = start(&server);
    let name = until_claims(&server, 1).await.remove(0);
    let calls: Vec<_> = object_writes(&server)
        .into_iter()
        .filter(|call| call.contains("ragengines") || call.contains("nodeclaims"))
        .collect();
    assert_eq!(calls, ["patch ragengines docs 200", "create nodeclaims  201"], "the finalizer comes first");
    assert_eq!(finalizers(&server), [RAG_ENGINE_FINALIZER]);
    let claim: NodeClaim = serde_json::from_value(server.get("nodeclaims", &name).unwrap()).unwrap();
    let uid = claim.metadata.labels.unwrap()["ragengine.dev/node-of"].clone();
    until("the pod", &server, || node_selector(&server)["ragengine.dev/node-of"] == json!(uid)).await;
    let ready = || condition(&server, "docs", ConditionType::Ready).unwrap();
    until("a status", &server, || ready().reason == Reason::NodeNotReady).await;
    pass(A_WHILE).await;
    drop(server.calls());
    pass(LONG).await;
    assert_eq!(writes(&server), [], "nothing has changed");

    let failed = json!([{"type": "Launched", "status": "Unknown", "reason": "LaunchFailed", "message": "no capacity"}]);
    conditions(&server, &name, failed);
    until("the failure", &server, || ready().message.contains("(LaunchFailed: no capacity)")).await;
    assert_eq!(condition(&server, "docs", ConditionType::Degraded).unwrap().reason, Reason::NodeNotReady);
    conditions(&server, &name, json!([{"type": "Launched", "status": "True"}, {"type": "Ready", "status": "True"}]));
    until("the node", &server, || status(&server, "docs").worker_nodes == [format!("node-of-{name}")]).await;
    until("the pod", &server, || ready().reason != Reason::NodeNotReady).await;
    controller.stop().await;

    let restarted = start(&server);
    pass(A_WHILE).await;
    drop(server.calls());
    pass(A_WHILE).await;
    assert_eq!(object_writes(&server), [""; 0], "after a restart");
    restarted.stop().await;
}

#[tokio::test(start_paused = true)]
async fn claims_that_are_not_wanted_any_more_are_deleted() {
    for (what, spec, count) in [
        ("another type", "{compute: {instanceType: larger}}", 1),
        ("fewer", LARGE, 1),
        ("no type", "{}", 0),
        ("stopped", "{replicas: 0, compute: {instanceType: large, count: 2}}", 0),
    ] {
        let server = karpenter_with("{compute: {instanceType: large, count: 2}}");
        let theirs =
            json!({"metadata": {"name": "theirs", "labels": {"ragengine.dev/node-of": "another"}}, "spec": {}});
        server.put("nodeclaims", theirs);
        let controller = start(&server);
        let before = until_claims(&server, 3).await;
        until("a status", &server, || condition(&server, "docs", ConditionType::Ready).is_some()).await;
        pass(A_WHILE).await;
        all_are_ready(&server);
        set(&server, spec);
        pass(A_WHILE).await;
        if what == "another type" {
            let both = until_claims(&server, 4).await;
            assert!(before.iter().all(|name| both.contains(name)), "the old ones stay until the new one has its node");
            all_are_ready(&server);
        }
        let after = until_claims(&server, 1 + count).await;
        assert!(after.contains(&"theirs".to_owned()), "{what}");
        let is_kept = after.iter().filter(|name| before.contains(name)).count() > 1;
        assert_eq!(is_kept, what == "fewer", "{what}: {before:?} {after:?}");
        let is_held = || finalizers(&server) == [RAG_ENGINE_FINALIZER];
        until(what, &server, || is_held() == (count > 0)).await;
        controller.stop().await;
    }
}

/// A limit that is lower than what exists, such as after an upgrade, takes nothing away.
#[tokio::test(start_paused = true)]
async fn nodes_beyond_the_limit_stay_and_are_not_made_again() {
    let limited = |most| Defaults {
        node_class: Some(node_class()),
        node_limits: NodeLimits { most, instance_types: BTreeSet::new() },
        ..defaults()
    };
    let server = karpenter_with("{compute: {instanceType: large, count: 3}}");
    let controller = Controller::start_with(&server, limited(3));
    let before = until_claims(&server, 3).await;
    all_are_ready(&server);
    pass(A_WHILE).await;
    controller.stop().await;

    let controller = Controller::start_with(&server, limited(1));
    pass(LONG).await;
    assert_eq!(claims(&server), before);
    let invalid = || condition(&server, "docs", ConditionType::Degraded).map(|degraded| degraded.reason);
    assert_ne!(invalid(), Some(Reason::InvalidSpec));
    for name in &before {
        server.delete("nodeclaims", name);
    }
    pass(LONG).await;
    assert_eq!(claims(&server).len(), 1, "as many as are allowed");
    set(&server, "{compute: {instanceType: large, count: 4}}");
    pass(LONG).await;
    assert_eq!(claims(&server).len(), 1, "a higher number makes no more");
    controller.stop().await;
}

/// The old node may be all that a quota allows, and with `Recreate` no pod runs until the next one is there.
#[tokio::test(start_paused = true)]
async fn a_node_that_no_pod_can_use_goes_before_the_next_one_is_there() {
    let server = karpenter_with(LARGE);
    let controller = start(&server);
    let before = until_claims(&server, 1).await;
    all_are_ready(&server);
    until("a pod", &server, || server.get("deployments", "docs").is_some()).await;
    let labels = server.get("deployments", "docs").unwrap()["spec"]["template"]["metadata"]["labels"].clone();
    server.put(
        "pods",
        json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "docs-1", "labels": labels},
            "spec": {"nodeName": format!("node-of-{}", before[0]), "containers": []}, "status": {"phase": "Running"},
        }),
    );
    pass(A_WHILE).await;
    set(&server, "{compute: {instanceType: larger}}");
    let both = until_claims(&server, 2).await;
    until("the other type", &server, || node_selector(&server)["node.kubernetes.io/instance-type"] == "larger").await;
    server.edit("deployments", "docs", |deployment| {
        deployment["status"] = json!({"observedGeneration": deployment["metadata"]["generation"]});
    });
    pass(A_WHILE).await;
    assert_eq!(claims(&server), both, "the pod has not stopped");
    server.delete("pods", "docs-1");
    let after = until_claims(&server, 1).await;
    assert!(both.contains(&after[0]) && after != before, "{before:?} {after:?}");
    controller.stop().await;
}

/// The pods serve on the nodes of the old class meanwhile.
#[tokio::test(start_paused = true)]
async fn another_node_class_replaces_the_nodes_of_a_few_engines_at_a_time() {
    let server = karpenter_with(LARGE);
    let mut more = manifest(&engine(LARGE));
    more["metadata"]["name"] = json!("more");
    server.put("ragengines", more);
    let controller = start(&server);
    let before = until_claims(&server, 2).await;
    all_are_ready(&server);
    pass(A_WHILE).await;
    controller.stop().await;

    let other = "karpenter.k8s.aws/EC2NodeClass/other".parse().unwrap();
    let defaults = Defaults { node_class: Some(other), rollouts: Rollouts::new(1), ..defaults() };
    let controller = Controller::start_with(&server, defaults);
    let both = until_claims(&server, 3).await;
    pass(A_WHILE).await;
    assert_eq!(claims(&server), both, "one engine at a time, and its old node stays");
    all_are_ready(&server);
    until_claims(&server, 2).await;
    // No engine ever serves here, so the first one frees its slot only after a while.
    pass(LONG).await;
    until_claims(&server, 3).await;
    all_are_ready(&server);
    let after = until_claims(&server, 2).await;
    assert!(after.iter().all(|name| !before.contains(name)), "{before:?} {after:?}");
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn karpenter_may_be_installed_and_removed_while_the_operator_runs() {
    let server = server_with(&engine(LARGE));
    let controller = start(&server);
    let is_ours = || !node_selector(&server)["ragengine.dev/node-of"].is_null();
    until("a pod", &server, || server.get("deployments", "docs").is_some()).await;
    assert!(!is_ours() && finalizers(&server).is_empty());
    pass(A_WHILE).await;
    drop(server.calls());
    pass(LONG).await;
    assert_eq!(writes(&server), []);
    server.has_karpenter(Karpenter::Present);
    until_claims(&server, 1).await;
    until("its pod", &server, is_ours).await;
    server.has_karpenter(Karpenter::Absent);
    until("any node again", &server, || !is_ours()).await;
    until("no finalizer", &server, || finalizers(&server).is_empty()).await;
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_operator_without_a_node_class_asks_for_no_node_claims() {
    let server = karpenter_with(LARGE);
    let controller = Controller::start(&server);
    until("a pod", &server, || server.get("deployments", "docs").is_some()).await;
    pass(A_WHILE).await;
    assert_eq!(server.lists("nodeclaims") + server.watches("nodeclaims"), 0);
    assert!(claims(&server).is_empty() && finalizers(&server).is_empty());
    assert_eq!(node_selector(&server), json!({"node.kubernetes.io/instance-type": "large"}));
    controller.stop().await;
}

//! All cases of an engine status, each with a name. The names are in the snapshot.

use std::sync::Arc;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;
use ragengine_client::wire::{EngineStatus, Problem, ProblemKind};
use ragengine_operator::apply::Refused;
use ragengine_operator::engine::Report;
use ragengine_operator::finding::{Finding, Invalid};
use ragengine_operator::karpenter::NodeClaim;
use ragengine_operator::rag_engine::hold::Hold;
use ragengine_operator::rag_engine::nodes::{NoNodes, Provider};
use ragengine_operator::rag_engine::observe::{Observed, ObservedReference};
use ragengine_operator::rag_engine::references::{Reference, ReferenceKind};
use ragengine_operator::warnings::Warning;
use ragengine_operator_api::Reason;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::Case;
use crate::fixture::{engine, fixture, issuer, node_class};

fn object<K: DeserializeOwned>(value: Value) -> Arc<K> {
    Arc::new(serde_json::from_value(value).unwrap())
}

fn deployment(status: Value) -> Option<Arc<Deployment>> {
    let server = json!({"name": "ragengine", "resources": {"limits": {"memory": "3Gi"}}});
    let fetch = json!({"name": "fetch"});
    let pod = json!({"spec": {"containers": [server], "initContainers": [fetch]}});
    let spec = json!({"selector": {}, "template": pod});
    Some(object(json!({"metadata": {"name": "docs", "generation": 3}, "spec": spec, "status": status})))
}

/// A running pod with these container statuses.
fn pod(name: &str, containers: Value) -> Arc<Pod> {
    pod_with(name, json!({"phase": "Running", "containerStatuses": containers}))
}

fn pod_with(name: &str, status: Value) -> Arc<Pod> {
    let metadata = json!({"name": name, "uid": format!("uid-of-{name}"), "creationTimestamp": "2026-11-22T09:00:00Z"});
    object(json!({"metadata": metadata, "status": status}))
}

fn container(is_ready: &Value, restarts: i32, state: &Value, last_state: &Value) -> Value {
    json!([{
        "name": "ragengine", "image": "ragengine:0.1.0", "imageID": "", "ready": is_ready, "restartCount": restarts,
        "state": state, "lastState": last_state,
    }])
}

fn running() -> Value {
    json!({"running": {"startedAt": "2026-11-22T09:00:01Z"}})
}

fn waiting(reason: &str, message: &str) -> Value {
    json!({"waiting": {"reason": reason, "message": message}})
}

fn terminated(code: i32, reason: &str, message: &str) -> Value {
    json!({"terminated": {"exitCode": code, "reason": reason, "message": message}})
}

fn answer(problems: &[(ProblemKind, &str)]) -> EngineStatus {
    let problem = |(kind, detail): &(ProblemKind, &str)| Problem { kind: *kind, detail: (*detail).to_owned() };
    EngineStatus {
        ready: problems.is_empty(),
        data_id: Some("data".to_owned()),
        indexes: 2,
        documents: 30,
        chunks: 400,
        problems: problems.iter().map(problem).collect(),
        generations: Vec::new(),
        owners: Vec::new(),
    }
}

fn report(answer: EngineStatus) -> Option<Report> {
    Some(Report { pod_uid: "uid-of-docs-1".to_owned(), answer: Some(answer), error: None, failures: 0 })
}

/// A report after this many failed requests in a row.
fn timed_out(answer: Option<EngineStatus>, failures: u32) -> Option<Report> {
    Some(Report { pod_uid: "uid-of-docs-1".to_owned(), answer, error: Some("timed out".to_owned()), failures })
}

fn warning(uid: &str, reason: &str, message: &str) -> Warning {
    Warning { uid: uid.to_owned(), reason: reason.to_owned(), message: message.to_owned() }
}

fn missing(kind: ReferenceKind, name: &str) -> ObservedReference {
    ObservedReference {
        reference: Reference { kind, name: name.to_owned(), is_optional: false, is_reread: false },
        version: None,
        refusal: None,
    }
}

const AVAILABLE: &str = r#"{"observedGeneration": 3, "replicas": 1, "updatedReplicas": 1, "availableReplicas": 1}"#;

/// An engine that serves.
fn well() -> Case {
    let available: Value = serde_json::from_str(AVAILABLE).unwrap();
    Case {
        engine: engine("{}"),
        observed: Observed {
            service: Some(object(json!({"metadata": {"name": "docs"}}))),
            deployment: deployment(available),
            pods: vec![pod("docs-1", container(&json!(true), 0, &running(), &json!({})))],
            report: report(answer(&[])),
            ..Observed::default()
        },
        invalid: None,
        refused: None,
        remains: None,
        is_current: true,
        hold: None,
    }
}

fn with(change: impl FnOnce(&mut Case)) -> Case {
    let mut case = well();
    change(&mut case);
    case
}

/// An engine whose pod is unavailable, with this state of its container.
fn with_container(restarts: i32, state: &Value, last_state: &Value) -> Case {
    with_pod(pod("docs-1", container(&json!(false), restarts, state, last_state)))
}

fn with_pod(pod: Arc<Pod>) -> Case {
    with(|case| {
        case.observed.deployment = deployment(json!({"observedGeneration": 3, "replicas": 1, "updatedReplicas": 1}));
        case.observed.pods = vec![pod];
        case.observed.report = None;
    })
}

/// An engine with several pods, of which the last ones are not ready.
fn with_pods(spec: &str, deployment_status: Value, ready: &[bool]) -> Case {
    with(|case| {
        case.engine = engine(&format!("{{{SHARED}, {spec}}}"));
        let mut rolling = Arc::unwrap_or_clone(deployment(deployment_status).unwrap());
        rolling.spec.as_mut().unwrap().strategy = serde_json::from_value(json!({"type": "RollingUpdate"})).unwrap();
        case.observed.deployment = Some(Arc::new(rolling));
        case.observed.pods =
            ready.iter().enumerate().map(|(number, ready)| pod_of_several(number + 1, *ready)).collect();
    })
}

/// Later ones are younger.
fn pod_of_several(number: usize, is_ready: bool) -> Arc<Pod> {
    let state = if is_ready { running() } else { waiting("CrashLoopBackOff", "") };
    let last = if is_ready { json!({}) } else { terminated(1, "Error", "weaviate cannot be reached") };
    let name = format!("docs-{number}");
    let metadata = json!({
        "name": name, "uid": format!("uid-of-{name}"), "creationTimestamp": format!("2026-11-22T09:00:0{number}Z"),
    });
    let ready = json!({"type": "Ready", "status": if is_ready { "True" } else { "False" }});
    let containers = container(&json!(is_ready), i32::from(!is_ready), &state, &last);
    let status = json!({"phase": "Running", "conditions": [ready], "containerStatuses": containers});
    object(json!({"metadata": metadata, "status": status}))
}

const SHARED: &str = "postgres: {url: 'postgres://db'}, storage: {vectorDB: {engine: weaviate, url: 'http://w'}}";

fn with_problem(kind: ProblemKind, detail: &str) -> Case {
    with(|case| case.observed.report = report(answer(&[(kind, detail)])))
}

fn with_deployment(status: Value) -> Case {
    with(|case| case.observed.deployment = deployment(status))
}

/// An engine whose pod is being created, with a warning event.
fn with_warning(reason: &str, message: &str) -> Case {
    let mut case = with_container(0, &json!({"waiting": {"reason": "ContainerCreating"}}), &json!({}));
    case.observed.warnings = vec![
        warning("uid-of-docs-1", reason, message),
        // Ignored: an event of another object, and one without useful information.
        warning("uid-of-another", "FailedMount", "not this one"),
        warning("uid-of-docs-1", "BackOff", "restarting failed container"),
    ];
    case
}

/// A NodeClaim with these conditions.
fn claim(name: &str, conditions: &Value) -> NodeClaim {
    serde_json::from_value(json!({"metadata": {"name": name}, "status": {"conditions": conditions}})).unwrap()
}

fn ready_claim(name: &str) -> NodeClaim {
    claim(name, &json!([{"type": "Launched", "status": "True"}, {"type": "Ready", "status": "True"}]))
}

/// Karpenter tries again, so the launch is not False.
fn failed_claim(name: &str) -> NodeClaim {
    let message = "creating instance, insufficient capacity of large in zone-a";
    claim(
        name,
        &json!([
            {"type": "Ready", "status": "Unknown", "reason": "UnhealthyDependents", "message": "Launched=Unknown"},
            {"type": "Launched", "status": "Unknown", "reason": "LaunchFailed", "message": message},
        ]),
    )
}

/// An engine whose pod no node can run yet, with these NodeClaims.
fn with_claims(claims: &[NodeClaim]) -> Case {
    let mut case = unschedulable(Provider::Karpenter(node_class()));
    case.observed.nodes.claims = claims.to_vec();
    case
}

/// An engine with a machine type whose pod no node can run.
fn unschedulable(provider: Provider) -> Case {
    let mut case = with_pod(pod_with("docs-1", no_node("0/3 nodes are available: 3 didn't match the node selector.")));
    case.engine = engine("{compute: {instanceType: large}}");
    case.observed.nodes.provider = provider;
    case
}

fn no_node(message: &str) -> Value {
    let scheduled = json!({"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message});
    json!({"phase": "Pending", "conditions": [scheduled]})
}

#[rustfmt::skip]
pub(super) fn cases() -> Vec<(&'static str, Case)> {
    let nothing = json!({});
    let log = "{\"level\":\"INFO\",\"message\":\"starting\"}\n\n\
        Error: settings.yaml cannot be read\n  caused by: no such file\n";
    let crash = terminated(1, "Error", log);
    let back_off = waiting("CrashLoopBackOff", "");
    let initializing = json!({"waiting": {"reason": "PodInitializing"}});
    vec![
        ("ready", well()),
        ("ready, with an ignored field", with(|case| {
            case.engine = engine("{embedding: {local: {image: 'models/small:1'}}}");
        })),
        ("ready, on a node of a machine type", with(|case| {
            case.engine = engine("{compute: {instanceType: large}}");
        })),
        ("ready, with a number of nodes that nobody makes", with(|case| {
            case.engine = engine("{compute: {instanceType: large, count: 2}}");
            case.observed.nodes.provider = Provider::Cluster(NoNodes::NotServed);
        })),
        ("ready, with more nodes than the operator makes", with(|case| {
            case.engine = engine("{compute: {instanceType: large, count: 6}}");
            case.observed.nodes.provider = Provider::Karpenter(node_class());
            case.observed.nodes.claims = vec![ready_claim("a")];
        })),
        ("no node of the machine type exists, and no node class", unschedulable(Provider::Cluster(NoNodes::NoNodeClass))),
        ("no node of the machine type exists, and no Karpenter", unschedulable(Provider::Cluster(NoNodes::NotServed))),
        ("a new NodeClaim", with_claims(&[claim("a", &json!([]))])),
        ("a NodeClaim that Karpenter has not begun", with_claims(&[claim("a", &json!([
            {"type": "Ready", "status": "Unknown", "reason": "AwaitingReconciliation", "message": "object is awaiting reconciliation"},
        ]))])),
        ("a NodeClaim whose launch fails", with_claims(&[failed_claim("a")])),
        ("a NodeClaim whose node has not joined", with_claims(&[claim("a", &json!([
            {"type": "Launched", "status": "True"},
            {"type": "Registered", "status": "Unknown", "reason": "NodeNotFound", "message": "Node not registered with cluster"},
        ]))])),
        ("a NodeClaim whose node cannot join", with_claims(&[claim("a", &json!([
            {"type": "Launched", "status": "True"},
            {"type": "Registered", "status": "False", "reason": "MultipleNodesFound", "message": "Invariant violated."},
        ]))])),
        ("a NodeClaim that is being deleted", {
            let mut going = claim("a", &json!([]));
            going.metadata.deletion_timestamp = pod("docs-1", json!([])).metadata.creation_timestamp.clone();
            with_claims(&[going])
        }),
        ("a NodeClaim that was deleted by another", {
            let mut case = with_claims(&[]);
            case.observed.nodes.missing = vec!["a".to_owned()];
            case
        }),
        ("a NodeClaim whose node is ready, and a pod that starts", {
            let mut case = with_claims(&[ready_claim("a")]);
            case.observed.pods = vec![pod("docs-1", container(&json!(false), 0, &running(), &nothing))];
            case
        }),
        ("ready, beside a NodeClaim whose launch fails", with(|case| {
            let broken = with_claims(&[ready_claim("a"), failed_claim("b")]);
            (case.engine, case.observed.nodes) = (broken.engine, broken.observed.nodes);
        })),
        ("ready, on a node that is replaced", with(|case| {
            let new = with_claims(&[claim("new", &json!([]))]);
            (case.engine, case.observed.nodes) = (new.engine, new.observed.nodes);
            case.observed.nodes.replaced = vec![ready_claim("old")];
        })),
        ("ready, on a node whose replacement cannot be launched", with(|case| {
            let new = with_claims(&[failed_claim("new")]);
            (case.engine, case.observed.nodes) = (new.engine, new.observed.nodes);
            case.observed.nodes.replaced = vec![ready_claim("old")];
        })),
        ("ready, until the replaced node is gone", with(|case| {
            let new = with_claims(&[ready_claim("new")]);
            (case.engine, case.observed.nodes) = (new.engine, new.observed.nodes);
            case.observed.nodes.replaced = vec![ready_claim("old")];
        })),
        ("a pod of another machine type waits for its node beside the old one", {
            let mut case = with_claims(&[claim("new", &json!([]))]);
            case.observed.nodes.replaced = vec![ready_claim("old")];
            case
        }),
        ("ready, on a node that Karpenter has not seen yet", with(|case| {
            let new = with_claims(&[claim("a", &json!([]))]);
            (case.engine, case.observed.nodes) = (new.engine, new.observed.nodes);
        })),
        ("the NodeClaims may not be read", {
            let mut case = with_claims(&[]);
            case.observed.nodes.unreadable = Some("nodeclaims.karpenter.sh is forbidden.".to_owned());
            case
        }),
        ("ready, with many ignored fields", with(|case| {
            case.engine = fixture("not_acted_on");
            let claim = json!({"metadata": {"name": "vector-db"}, "status": {"phase": "Bound"}});
            case.observed.claim = Some(object(claim));
        })),
        ("ready, with fields that have no effect", with(|case| {
            case.engine = engine("{storage: {vectorDB: {engine: faiss}}}");
        })),
        ("stopped", with(|case| {
            case.engine = engine("{replicas: 0}");
            case.observed.deployment = deployment(json!({"observedGeneration": 3}));
            case.observed.pods.clear();
            case.observed.report = None;
        })),
        ("ready and paused", with(|case| case.hold = Some(Hold::Paused))),
        ("ready, and queued behind other engines", with(|case| case.hold = Some(Hold::Queued { others: 3 }))),
        ("the server loads its indexes, and the engine is queued", with(|case| {
            *case = with_container(0, &running(), &nothing);
            case.hold = Some(Hold::Queued { others: 3 });
        })),
        ("paused before any object was created", with(|case| {
            case.observed = Observed::default();
            case.hold = Some(Hold::Paused);
        })),
        ("paused with a problem", with(|case| {
            *case = with_problem(ProblemKind::VolumeFull, "0 bytes");
            case.hold = Some(Hold::Paused);
        })),
        ("stopped, with its indexes in a vector database", with(|case| {
            case.engine = engine(&format!("{{replicas: 0, {SHARED}}}"));
            case.observed.deployment = deployment(json!({"observedGeneration": 3}));
            case.observed.pods.clear();
            case.observed.report = None;
        })),
        ("several pods are ready", with_pods("replicas: 3", json!({
            "observedGeneration": 3, "replicas": 3, "updatedReplicas": 3, "availableReplicas": 3,
        }), &[true, true, true])),
        ("several pods are replaced one after the other", with_pods("replicas: 3", json!({
            "observedGeneration": 3, "replicas": 4, "updatedReplicas": 2, "availableReplicas": 3,
        }), &[true, true, true])),
        ("Kubernetes has not begun to replace several pods", with_pods("replicas: 3", json!({
            "observedGeneration": 2, "replicas": 3, "updatedReplicas": 3, "availableReplicas": 3,
        }), &[true, true, true])),
        ("several pods are replaced, and the caches lag", {
            let mut case = with_pods("replicas: 3", json!({
                "observedGeneration": 3, "replicas": 3, "updatedReplicas": 3, "availableReplicas": 3,
            }), &[true, true, true]);
            case.is_current = false;
            case
        }),
        ("several pods are replaced, and too few serve", with_pods("replicas: 3", json!({
            "observedGeneration": 3, "replicas": 3, "updatedReplicas": 1, "availableReplicas": 2,
        }), &[true, true])),
        ("the first pod of a new version crashes beside those that serve", with_pods("replicas: 2", json!({
            "observedGeneration": 3, "replicas": 3, "updatedReplicas": 1, "availableReplicas": 2,
        }), &[true, true, false])),
        ("a quota forbids the first pod of a new version", with_pods("replicas: 2", json!({
            "observedGeneration": 3, "replicas": 2, "updatedReplicas": 0, "availableReplicas": 2,
            "conditions": [{"type": "ReplicaFailure", "status": "True", "message": "exceeded quota"}],
        }), &[true, true])),
        ("no node for the first pod of a new version", {
            let mut case = with_pods("replicas: 2, compute: {instanceType: large}", json!({
                "observedGeneration": 3, "replicas": 3, "updatedReplicas": 1, "availableReplicas": 2,
            }), &[true, true]);
            case.observed.nodes = with_claims(&[failed_claim("a")]).observed.nodes;
            case
        }),
        ("all pods serve, and one more than needed crashes", with_pods("autoscaling: {maxReplicas: 8}", json!({
            "observedGeneration": 3, "replicas": 2, "updatedReplicas": 2, "availableReplicas": 1,
        }), &[true, false])),
        ("several pods are ready, and none has reported yet", {
            let mut case = with_pods("replicas: 2", json!({
                "observedGeneration": 3, "replicas": 2, "updatedReplicas": 2, "availableReplicas": 2,
            }), &[true, true]);
            case.observed.report = None;
            case
        }),
        ("several pods are stopping", with_pods("replicas: 0", json!({
            "observedGeneration": 3, "replicas": 2, "updatedReplicas": 2, "availableReplicas": 2,
        }), &[true, true])),
        ("Weaviate cannot be reached", {
            let mut case = with_problem(ProblemKind::IndexesFailed, "weaviate: connection refused");
            case.engine = engine(&format!("{{{SHARED}}}"));
            case
        }),
        ("Qdrant cannot be reached", {
            let mut case = with_problem(ProblemKind::IndexesFailed, "qdrant: connection refused");
            case.engine = engine(&format!("{{{}}}", SHARED.replace("weaviate", "qdrant")));
            case
        }),
        ("a pod serves until the next one does", with_pods("replicas: 1", json!({
            "observedGeneration": 3, "replicas": 2, "updatedReplicas": 1, "availableReplicas": 1,
        }), &[true])),
        ("the oldest of several pods crashes", {
            let mut case = with_pods("replicas: 2", json!({
                "observedGeneration": 3, "replicas": 2, "updatedReplicas": 2, "availableReplicas": 1,
            }), &[false, true]);
            case.observed.report = report(answer(&[])).map(|report| Report { pod_uid: "uid-of-docs-2".to_owned(), ..report });
            case
        }),
        ("an autoscaler adds a pod", with_pods("autoscaling: {maxReplicas: 8}", json!({
            "observedGeneration": 3, "replicas": 3, "updatedReplicas": 3, "availableReplicas": 2,
        }), &[true, true])),
        ("an autoscaler has not added enough pods yet", with_pods("autoscaling: {minReplicas: 2, maxReplicas: 8}", json!({
            "observedGeneration": 3, "replicas": 1, "updatedReplicas": 1, "availableReplicas": 1,
        }), &[true])),
        ("stopping, with a running pod", with(|case| case.engine = engine("{replicas: 0}"))),
        ("no object has been created", with(|case| {
            case.observed = Observed::default();
            case.is_current = false;
        })),
        (
            "documents of a deleted Index remain",
            with(|case| {
                let message = "the Job has failed".to_owned();
                case.remains = Some(Finding { reason: Reason::DeletionFailed, message });
            }),
        ),
        ("a stale cache", with(|case| case.is_current = false)),
        ("a Deployment whose status is of an older generation", with_deployment(json!({
            "observedGeneration": 2, "replicas": 1, "updatedReplicas": 1, "availableReplicas": 1,
        }))),
        ("a Deployment without a status", with_deployment(nothing.clone())),
        ("the old pod still runs", with_deployment(json!({
            "observedGeneration": 3, "replicas": 1, "availableReplicas": 1,
        }))),
        ("two pods", with_deployment(json!({
            "observedGeneration": 3, "replicas": 2, "updatedReplicas": 2, "availableReplicas": 2,
        }))),
        ("no pod yet", with(|case| {
            case.observed.deployment = deployment(json!({"observedGeneration": 3}));
            case.observed.pods.clear();
        })),
        ("a pod that the Deployment does not count yet", with(|case| {
            *case = with_container(0, &running(), &nothing);
            case.observed.deployment = deployment(json!({"observedGeneration": 3}));
        })),
        ("no report of the server yet", with(|case| case.observed.report = None)),
        ("the report is from the old pod", with(|case| {
            let answer = Some(answer(&[(ProblemKind::VolumeFull, "0 bytes")]));
            case.observed.report = Some(Report { pod_uid: "uid-of-docs-0".into(), answer, error: None, failures: 0 });
        })),
        ("a container is being created", with_container(0, &json!({"waiting": {"reason": "ContainerCreating"}}), &nothing)),
        ("the server starts", with_container(0, &running(), &nothing)),
        ("the server loads its indexes", with(|case| {
            *case = with_container(0, &running(), &nothing);
            let problems = [(ProblemKind::LoadingIndexes, "3 of 7")];
            let answer = EngineStatus { data_id: None, indexes: 0, documents: 0, ..answer(&problems) };
            case.observed.report = report(answer);
        })),
        ("a problem that only newer operators know", with_problem(ProblemKind::Other, "the moon")),
        ("an invalid specification", with(|case| {
            case.invalid = Some(Invalid(vec!["this is wrong".into(), "so is that".into()]));
        })),
        ("the API server refuses an object", with(|case| {
            case.refused = Some(Refused::by_api_server("Service docs", "exceeded quota"));
        })),
        ("the pod is forbidden", with_deployment(json!({
            "observedGeneration": 3,
            "conditions": [
                {"type": "Progressing", "status": "True", "message": "ReplicaSet docs-1 is progressing"},
                {"type": "ReplicaFailure", "status": "True", "message": "violates PodSecurity"},
            ],
        }))),
        ("the pod is not forbidden any more", with_deployment(json!({
            "observedGeneration": 3, "replicas": 1, "updatedReplicas": 1, "availableReplicas": 1,
            "conditions": [{"type": "ReplicaFailure", "status": "False", "message": "violates PodSecurity"}],
        }))),
        ("a missing Secret", with(|case| {
            case.observed.references = vec![missing(ReferenceKind::Secret, "llm")];
        })),
        ("a missing Secret and a missing ConfigMap", with(|case| {
            case.observed.references =
                vec![missing(ReferenceKind::Secret, "llm"), missing(ReferenceKind::ConfigMap, "proxy")];
        })),
        ("a missing ConfigMap", with(|case| {
            case.observed.references = vec![missing(ReferenceKind::ConfigMap, "proxy")];
        })),
        ("a missing optional Secret", with(|case| {
            case.observed.references = vec![missing(ReferenceKind::Secret, "llm")];
            case.observed.references[0].reference.is_optional = true;
        })),
        ("a missing claim", with(|case| {
            case.engine = engine("{storage: {persistentVolumeClaim: data}}");
        })),
        ("a pending claim", with(|case| {
            *case = with_container(0, &json!({"waiting": {"reason": "ContainerCreating"}}), &nothing);
            case.engine = engine("{storage: {persistentVolume: {size: 1Gi}}}");
            let metadata = json!({"name": "docs-data", "uid": "uid-of-claim"});
            case.observed.claim = Some(object(json!({"metadata": metadata, "status": {"phase": "Pending"}})));
            case.observed.warnings = vec![
                warning("uid-of-claim", "ProvisioningFailed", "no storage class is the default"),
                // Ignored: an event of another object, and one of another kind.
                warning("uid-of-another", "ProvisioningFailed", "not this one"),
                warning("uid-of-claim", "Resizing", "it grows"),
            ];
        })),
        ("a claim that lost its volume", with(|case| {
            case.engine = engine("{storage: {persistentVolume: {size: 1Gi}}}");
            let claim = json!({"metadata": {"name": "docs-data"}, "status": {"phase": "Lost"}});
            case.observed.claim = Some(object(claim));
        })),
        (
            "no node has enough memory",
            with_pod(pod_with("docs-1", no_node("0/3 nodes are available: 3 Insufficient memory."))),
        ),
        (
            "the image cannot be pulled",
            with_container(0, &waiting("ImagePullBackOff", "Back-off pulling image: not found"), &nothing),
        ),
        ("a Secret without the key of a variable", {
            let message = "couldn't find key token in Secret tests/hub";
            with_container(0, &waiting("CreateContainerConfigError", message), &nothing)
        }),
        ("a missing Secret of a sidecar", {
            let message = "secret \"openai-key\" not found";
            with_container(0, &waiting("CreateContainerConfigError", message), &nothing)
        }),
        (
            "the image has no such program",
            with_container(0, &waiting("RunContainerError", "exec: no such file"), &nothing),
        ),
        ("a Secret without the key of a volume", with_warning(
            "FailedMount",
            "MountVolume.SetUp failed for volume \"hub-token\" : references non-existent secret key: HF_TOKEN",
        )),
        (
            "a volume on another node",
            with_warning("FailedAttachVolume", "Multi-Attach error for volume \"pvc-1\""),
        ),
        (
            "a Secret that the node has not seen yet",
            with_warning("FailedMount", "failed to sync secret cache: timed out waiting for the condition"),
        ),
        ("the server exited", with_container(0, &crash, &nothing)),
        ("the server crashes repeatedly", with_container(4, &waiting("CrashLoopBackOff", "back-off 80s"), &crash)),
        ("the server exited and runs again", with_container(1, &running(), &crash)),
        ("the server exited and is ready again", with(|case| {
            case.observed.pods = vec![pod("docs-1", container(&json!(true), 1, &running(), &crash))];
        })),
        ("the server ended without an error", with_container(2, &back_off, &terminated(0, "Completed", "bye\n"))),
        ("the server exited without a message", with_container(2, &back_off, &terminated(137, "Error", ""))),
        ("the server's last line is JSON", {
            let log = "{\"level\":\"ERROR\",\"message\":\"the port is taken\",\"error\":\"address in use\"}\n";
            with_container(2, &back_off, &terminated(1, "Error", log))
        }),
        (
            "the server's last line is long",
            with_container(2, &back_off, &terminated(1, "Error", &"é lot of words\n".repeat(400))),
        ),
        ("the server ran out of memory", with_container(2, &back_off, &terminated(137, "OOMKilled", ""))),
        ("an init container that succeeded", with_pod(pod_with("docs-1", json!({
            "phase": "Pending",
            "initContainerStatuses": [{
                "name": "fetch", "image": "i", "imageID": "", "ready": true, "restartCount": 0,
                "state": terminated(0, "Completed", ""),
            }],
            "containerStatuses": container(&json!(false), 0, &initializing, &nothing),
        })))),
        ("an init container that fails", with_pod(pod_with("docs-1", json!({
            "phase": "Pending",
            "initContainerStatuses": [{
                "name": "fetch", "image": "i", "imageID": "", "ready": false, "restartCount": 3,
                "state": back_off, "lastState": terminated(2, "Error", "no route to host"),
            }],
            "containerStatuses": container(&json!(false), 0, &initializing, &nothing),
        })))),
        ("an init container that ran out of memory", with_pod(pod_with("docs-1", json!({
            "phase": "Pending",
            "initContainerStatuses": [{
                "name": "fetch", "image": "i", "imageID": "", "ready": false, "restartCount": 0,
                "state": terminated(137, "OOMKilled", ""),
            }],
        })))),
        ("an evicted pod and the new one", with(|case| {
            // Created in the same second, and later by name.
            let message = "The node was low on resource: memory.";
            let status = json!({"phase": "Failed", "reason": "Evicted", "message": message});
            case.observed.pods.push(pod_with("docs-2", status));
        })),
        ("a pod that is being deleted and the new one", with(|case| {
            let mut old = Arc::unwrap_or_clone(pod("docs-2", container(&json!(false), 9, &back_off, &crash)));
            old.metadata.deletion_timestamp = old.metadata.creation_timestamp.clone();
            case.observed.pods.push(Arc::new(old));
        })),
        ("the indexes cannot be loaded", with_problem(ProblemKind::IndexesFailed, "of a newer version")),
        ("an index is damaged", with_problem(ProblemKind::IndexUnavailable, "index 'docs': it cannot be opened")),
        ("the volume is full", with_problem(ProblemKind::VolumeFull, "0 bytes are left")),
        ("the volume is read-only", with_problem(ProblemKind::VolumeFailed, "read-only file system")),
        ("the model cannot be fetched", with_problem(ProblemKind::EmbeddingModelFailed, "404 from the hub")),
        ("the embedding endpoint refuses", with_problem(ProblemKind::EmbeddingServiceFailed, "401 Unauthorized")),
        ("the language model does not answer", with_problem(ProblemKind::InferenceServiceFailed, "connection refused")),
        ("the database does not answer", with_problem(ProblemKind::PostgresFailed, "connection refused")),
        ("Redis does not answer", with_problem(ProblemKind::RedisFailed, "connection refused")),
        ("the reranker cannot be fetched", with_problem(ProblemKind::RerankerFailed, "404 from the hub")),
        ("RabbitMQ does not answer", with_problem(ProblemKind::EventsFailed, "connection refused")),
        ("the policy is invalid", with_problem(ProblemKind::GuardrailsFailed, "rules[0].pattern: unclosed group")),
        ("the keys of an issuer cannot be read", with_problem(ProblemKind::AuthFailed, "https://login.example: 404")),
        ("the policy does not exist", with(|case| {
            *case = with_problem(ProblemKind::GuardrailsFailed, "no such file");
            case.observed.references = vec![missing(ReferenceKind::ConfigMap, "policy")];
            let policy = &mut case.observed.references[0].reference;
            (policy.is_optional, policy.is_reread) = (true, true);
        })),
        ("the keys of the cluster's tokens are not read yet", with(|case| {
            case.engine = engine("{auth: {modes: [jwt]}}");
            case.observed.deployment = None;
        })),
        ("the keys of the cluster's tokens cannot be read", with(|case| {
            case.engine = engine("{auth: {modes: [jwt]}}");
            case.observed.deployment = None;
            case.observed.known_issuer.error = Some("/openid/v1/jwks: forbidden".to_owned());
        })),
        ("the keys of the cluster's tokens cannot be read again", with(|case| {
            case.engine = engine("{auth: {modes: [jwt]}}");
            case.observed.known_issuer.error = Some("/openid/v1/jwks: forbidden".to_owned());
            case.observed.known_issuer.issuer = Some(issuer());
        })),
        ("ready, with an HTTPRoute in a cluster without them", with(|case| {
            case.engine = engine("{httpRoute: {parentRefs: [{name: public}]}, allowAnonymous: true}");
        })),
        ("one failed request to the server", with(|case| {
            case.observed.report = timed_out(Some(answer(&[])), 1);
        })),
        ("several failed requests to the server", with(|case| {
            case.observed.report = timed_out(None, 3);
        })),
    ]
}

//! Drift: the operator reverts foreign changes to its objects, also inside atomic lists and selectors.

use ragengine_operator_api::ConditionType;
use serde_json::{Value, json};

use crate::api_server::{ApiServer, pass};
use crate::controller::{A_WHILE, Controller, condition, object_writes, server_with, until, writes};
use crate::fixture::engine;

const BOUNDED: &str = "{replicas: 0, networkPolicy: {\
    from: [{}, {namespaceSelector: {matchLabels: {a: b}}}], \
    egress: {to: [{podSelector: {}}]}, syncEgress: {to: []}}}";

async fn started(server: &ApiServer) -> Controller {
    let controller = Controller::start(server);
    until("a status", server, || condition(server, "docs", ConditionType::Ready).is_some()).await;
    pass(A_WHILE).await;
    drop(server.calls());
    controller
}

/// Every change that allows more traffic is reverted with one request.
#[tokio::test(start_paused = true)]
async fn an_opened_network_policy_is_closed_again() {
    type Edit = fn(&mut Value);
    let edits: [(&str, &str, Edit); 9] = [
        ("docs", "every namespace", |spec| {
            spec["ingress"][0]["from"][0] = json!({"podSelector": {}, "namespaceSelector": {}});
        }),
        ("docs", "namespaces instead of pods", |spec| {
            spec["ingress"][0]["from"][0] = json!({"namespaceSelector": {}});
        }),
        ("docs", "every address", |spec| spec["ingress"][0]["from"][0] = json!({"ipBlock": {"cidr": "0.0.0.0/0"}})),
        ("docs", "one more peer", |spec| {
            spec["ingress"][0]["from"].as_array_mut().unwrap().push(json!({"namespaceSelector": {}}));
        }),
        ("docs", "more ports", |spec| spec["ingress"][0]["ports"][0] = json!({"port": 1, "endPort": 65535})),
        ("docs", "one more rule", |spec| spec["ingress"].as_array_mut().unwrap().push(json!({}))),
        ("docs", "every pod instead of pods", |spec| {
            spec["egress"][1]["to"][0] = json!({"ipBlock": {"cidr": "0.0.0.0/0"}});
        }),
        ("docs.sync", "more ports for the Jobs", |spec| spec["egress"][0]["ports"][0]["endPort"] = json!(65535)),
        ("docs.sync", "every destination for the Jobs", |spec| {
            spec["egress"][0]["to"][0]["namespaceSelector"] = json!({});
        }),
    ];
    let server = server_with(&engine(BOUNDED));
    let controller = started(&server).await;
    for (name, what, edit) in edits {
        let before = server.get("networkpolicies", name).unwrap()["spec"].clone();
        server.edit("networkpolicies", name, |policy| edit(&mut policy["spec"]));
        assert_ne!(server.get("networkpolicies", name).unwrap()["spec"], before, "{what}");
        pass(A_WHILE).await;
        assert_eq!(server.get("networkpolicies", name).unwrap()["spec"], before, "{what}");
        assert_eq!(object_writes(&server), [format!("patch networkpolicies {name} 200")], "{what}");
    }
    controller.stop().await;
}

/// The data volume must stay an emptyDir, not a directory of the node.
#[tokio::test(start_paused = true)]
async fn a_volume_of_another_type_is_reverted() {
    let server = server_with(&engine("{replicas: 0}"));
    let controller = started(&server).await;
    let volumes = |server: &ApiServer| {
        let pod = server.get("deployments", "docs").unwrap()["spec"]["template"]["spec"].clone();
        pod["volumes"].as_array().unwrap().iter().find(|volume| volume["name"] == "data").unwrap().clone()
    };
    server.edit("deployments", "docs", |object| {
        let volumes = object["spec"]["template"]["spec"]["volumes"].as_array_mut().unwrap();
        let data = volumes.iter_mut().find(|volume| volume["name"] == "data").unwrap();
        *data = json!({"name": "data", "hostPath": {"path": "/"}});
    });
    pass(A_WHILE).await;
    assert!(volumes(&server)["emptyDir"].is_object(), "{}", volumes(&server));
    controller.stop().await;
}

/// The number of pods at a time is owned by whoever edited it, and the API server refuses it beside `Recreate`.
#[tokio::test(start_paused = true)]
async fn another_strategy_is_reverted() {
    let server = server_with(&engine("{replicas: 0}"));
    let controller = started(&server).await;
    let strategy = || server.get("deployments", "docs").unwrap()["spec"]["strategy"].clone();
    assert_eq!(strategy(), json!({"type": "Recreate"}));
    server.edit("deployments", "docs", |object| {
        let numbers = json!({"maxSurge": "25%", "maxUnavailable": "25%"});
        object["spec"]["strategy"] = json!({"type": "RollingUpdate", "rollingUpdate": numbers});
    });
    pass(A_WHILE).await;
    assert_eq!(strategy(), json!({"type": "Recreate"}));
    controller.stop().await;
}

/// The API server sets defaults and rewrites quantities inside atomic values.
#[tokio::test(start_paused = true)]
async fn defaults_inside_atomic_values_are_no_drift() {
    let spec = "
        replicas: 0
        networkPolicy: {egress: {to: [{namespaceSelector: {}, ports: [{port: 53}]}]}, syncEgress: {to: []}}
        podTemplate:
          spec:
            tolerations: [{key: a, operator: Exists, value: ''}]
            affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [
              {matchExpressions: [{key: a, operator: Exists, values: []}]},
            ]}}}
            topologySpreadConstraints:
              - {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway, labelSelector: {}}
            containers:
              - name: ragengine
                env:
                  - {name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}
                  - {name: CPU, valueFrom: {resourceFieldRef: {resource: limits.cpu}}}
            volumes:
              - {name: token, projected: {sources: [{serviceAccountToken: {path: token, audience: ''}}]}}
              - {name: pod, downwardAPI: {items: [
                  {path: labels, fieldRef: {fieldPath: metadata.labels}},
                  {path: cpu, resourceFieldRef: {containerName: ragengine, resource: limits.cpu, divisor: '0.5'}},
                ]}}
    ";
    let server = server_with(&engine(spec));
    started(&server).await.stop().await;
    let pod = server.get("deployments", "docs").unwrap()["spec"]["template"]["spec"].to_string();
    for filled_in in [r#""apiVersion":"v1""#, r#""divisor":"0""#, r#""divisor":"500m""#, r#""expirationSeconds":3600"#]
    {
        assert!(pod.contains(filled_in), "{filled_in}: {pod}");
    }
    let restarted = started(&server).await;
    pass(A_WHILE).await;
    assert_eq!(writes(&server), []);
    restarted.stop().await;
}

//! What somebody changes in an object that the operator has made is put right, also where a list or a selector is one value.

use ragengine_operator_api::ConditionType;
use serde_json::{Value, json};

use crate::api_server::{ApiServer, pass};
use crate::controller::{A_WHILE, Controller, condition, object_writes, server_with, until, writes};
use crate::fixture::engine;

const BOUNDED: &str = "{replicas: 0, networkPolicy: {from: [{}, {namespaceSelector: {matchLabels: {a: b}}}], egress: {to: [{podSelector: {}}]}, syncEgress: {to: []}}}";

async fn made(server: &ApiServer) -> Controller {
    let controller = Controller::start(server);
    until("a status", server, || condition(server, "docs", ConditionType::Ready).is_some()).await;
    pass(A_WHILE).await;
    drop(server.calls());
    controller
}

/// Whatever opens an engine is closed again, by one request.
#[tokio::test(start_paused = true)]
async fn a_network_policy_that_was_opened_is_closed_again() {
    type Edit = fn(&mut Value);
    let edits: [(&str, &str, Edit); 9] = [
        ("docs", "every namespace", |spec| {
            spec["ingress"][0]["from"][0] = json!({"podSelector": {}, "namespaceSelector": {}});
        }),
        ("docs", "namespaces in the place of pods", |spec| {
            spec["ingress"][0]["from"][0] = json!({"namespaceSelector": {}});
        }),
        ("docs", "every address", |spec| spec["ingress"][0]["from"][0] = json!({"ipBlock": {"cidr": "0.0.0.0/0"}})),
        ("docs", "one more peer", |spec| {
            spec["ingress"][0]["from"].as_array_mut().unwrap().push(json!({"namespaceSelector": {}}));
        }),
        ("docs", "more ports", |spec| spec["ingress"][0]["ports"][0] = json!({"port": 1, "endPort": 65535})),
        ("docs", "one more rule", |spec| spec["ingress"].as_array_mut().unwrap().push(json!({}))),
        ("docs", "every pod in the place of pods", |spec| {
            spec["egress"][1]["to"][0] = json!({"ipBlock": {"cidr": "0.0.0.0/0"}});
        }),
        ("docs.sync", "more ports for the Jobs", |spec| spec["egress"][0]["ports"][0]["endPort"] = json!(65535)),
        ("docs.sync", "every destination for the Jobs", |spec| {
            spec["egress"][0]["to"][0]["namespaceSelector"] = json!({});
        }),
    ];
    let server = server_with(&engine(BOUNDED));
    let controller = made(&server).await;
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

/// A folder of the pod's own, and not one of the node.
#[tokio::test(start_paused = true)]
async fn a_volume_of_another_kind_is_put_right() {
    let server = server_with(&engine("{replicas: 0}"));
    let controller = made(&server).await;
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

/// In what is one value the server fills in what was not said, and spells amounts in its own way.
#[tokio::test(start_paused = true)]
async fn what_the_server_fills_in_within_one_value_is_no_difference() {
    let spec = "
        replicas: 0
        networkPolicy: {egress: {to: [{namespaceSelector: {}, ports: [{port: 53}]}]}, syncEgress: {to: []}}
        podTemplate:
          spec:
            tolerations: [{key: a, operator: Exists, value: ''}]
            affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [
              {matchExpressions: [{key: a, operator: Exists, values: []}]},
            ]}}}
            topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway, labelSelector: {}}]
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
    made(&server).await.stop().await;
    let pod = server.get("deployments", "docs").unwrap()["spec"]["template"]["spec"].to_string();
    for filled_in in [r#""apiVersion":"v1""#, r#""divisor":"0""#, r#""divisor":"500m""#, r#""expirationSeconds":3600"#]
    {
        assert!(pod.contains(filled_in), "{filled_in}: {pod}");
    }
    let restarted = made(&server).await;
    pass(A_WHILE).await;
    assert_eq!(writes(&server), []);
    restarted.stop().await;
}

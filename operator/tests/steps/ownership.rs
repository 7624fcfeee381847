//! Field ownership: fields of other managers, fields of the operator, and fields that left the spec.

use k8s_openapi::api::apps::v1::Deployment;
use kube::Api;
use kube::api::{Patch, PatchParams};
use ragengine_operator_api::{ConditionType, Reason};
use serde_json::{Value, json};

use crate::api_server::ApiServer;
use crate::controller::{A_WHILE, Controller, condition, server_with, until};
use crate::{api_server::pass, fixture::engine};

const WITH_TEMPLATE: &str = "
    replicas: 0
    podTemplate:
      spec:
        containers: [{name: ragengine, env: [{name: MORE, value: '1'}], volumeMounts: [{name: more, mountPath: /more}]}]
        volumes: [{name: more, emptyDir: {}}]
        nodeSelector: {disk: ssd}
";

/// The managers that own fields of an object, without its subresources.
fn owners(object: &Value) -> Vec<String> {
    let entries = object["metadata"]["managedFields"].as_array().unwrap();
    let of_object = entries.iter().filter(|entry| entry["subresource"].is_null());
    let text = |entry: &Value, field: &str| entry[field].as_str().unwrap().to_owned();
    of_object.map(|entry| format!("{} {}", text(entry, "manager"), text(entry, "operation"))).collect()
}

fn deployment(server: &ApiServer) -> Value {
    server.get("deployments", "docs").unwrap()
}

/// The list item with this name.
fn item<'a>(list: &'a Value, name: &str) -> Option<&'a Value> {
    list.as_array()?.iter().find(|item| item["name"] == name)
}

fn server_container(server: &ApiServer) -> Value {
    item(&deployment(server)["spec"]["template"]["spec"]["containers"], "ragengine").unwrap().clone()
}

/// Changes the settings and waits until the Deployment has been applied again.
async fn applied_again(server: &ApiServer, max_distance: f64) {
    let version = || deployment(server)["spec"]["template"]["metadata"]["annotations"].clone();
    let before = version();
    server.edit("ragengines", "docs", |object| object["spec"]["retrieval"] = json!({"maxDistance": max_distance}));
    until("the settings reach the pod", server, || version() != before).await;
}

#[tokio::test(start_paused = true)]
async fn foreign_fields_stay_and_own_fields_are_restored() {
    let server = server_with(&engine(WITH_TEMPLATE));
    let controller = Controller::start(&server);
    pass(A_WHILE).await;
    let image = server_container(&server)["image"].clone();
    server.edit("deployments", "docs", |object| {
        object["metadata"]["annotations"]["theirs"] = json!("yes");
        let pod = &mut object["spec"]["template"]["spec"];
        pod["containers"][0]["image"] = json!("theirs:1");
        pod["containers"][0]["env"].as_array_mut().unwrap().push(json!({"name": "THEIRS", "value": "1"}));
        pod["containers"].as_array_mut().unwrap().insert(0, json!({"name": "sidecar", "image": "theirs:1"}));
    });
    until("the image", &server, || server_container(&server)["image"] == image).await;
    applied_again(&server, 0.5).await;
    let object = deployment(&server);
    assert_eq!(object["metadata"]["annotations"]["theirs"], "yes");
    assert_eq!(item(&object["spec"]["template"]["spec"]["containers"], "sidecar").unwrap()["image"], "theirs:1");
    assert!(item(&server_container(&server)["env"], "THEIRS").is_some());
    assert_eq!(owners(&object), ["ragengine-operator Apply", "kubectl-edit Update"]);
    controller.stop().await;
}

/// Whether the Deployment contains the template. Panics if it contains only a part.
fn has_template(server: &ApiServer) -> bool {
    let (container, pod) = (server_container(server), deployment(server)["spec"]["template"]["spec"].clone());
    let found = [
        item(&container["env"], "MORE").is_some(),
        item(&container["volumeMounts"], "more").is_some(),
        item(&pod["volumes"], "more").is_some(),
        pod["nodeSelector"]["disk"].is_string(),
    ];
    assert!(found.iter().all(|has| *has == found[0]), "{found:?}: {pod}");
    found[0]
}

/// The writes before the template is removed.
#[derive(Debug, PartialEq, Eq)]
enum Before {
    /// Applies only.
    Applied,
    /// A merge patch of the whole pod, as earlier versions wrote to repair it.
    Merged,
    /// A merge patch, and an apply since.
    MergedAndApplied,
}

#[tokio::test(start_paused = true)]
async fn fields_removed_from_the_template_are_removed_from_the_deployment() {
    for before in [Before::Applied, Before::Merged, Before::MergedAndApplied] {
        let server = server_with(&engine(WITH_TEMPLATE));
        let controller = Controller::start(&server);
        pass(A_WHILE).await;
        controller.stop().await;
        assert!(has_template(&server), "{before:?}");
        if before != Before::Applied {
            written_by_an_earlier_version(&server).await;
        }
        let controller = Controller::start(&server);
        pass(A_WHILE).await;
        assert!(has_template(&server), "{before:?}");
        if before == Before::MergedAndApplied {
            applied_again(&server, 0.5).await;
            assert!(has_template(&server), "{before:?}");
        }
        server.edit("ragengines", "docs", |object| object["spec"]["podTemplate"] = Value::Null);
        pass(A_WHILE).await;
        assert!(!has_template(&server), "{before:?}");
        let ours = |owner: &String| owner.starts_with("ragengine-operator");
        let owners: Vec<String> = owners(&deployment(&server)).into_iter().filter(ours).collect();
        assert_eq!(owners, ["ragengine-operator Apply"], "{before:?}");
        controller.stop().await;
    }
}

/// A user empties the pod, and a merge patch in the operator's name restores it.
async fn written_by_an_earlier_version(server: &ApiServer) {
    let pod = deployment(server)["spec"]["template"]["spec"].clone();
    server.edit("deployments", "docs", |object| {
        let pod = object["spec"]["template"]["spec"].as_object_mut().unwrap();
        pod.retain(|field, _| !["volumes", "nodeSelector"].contains(&field.as_str()));
        let container = pod["containers"][0].as_object_mut().unwrap();
        container.retain(|field, _| !["env", "volumeMounts"].contains(&field.as_str()));
    });
    let parameters = PatchParams { field_manager: Some("ragengine-operator".to_owned()), ..PatchParams::default() };
    let patch = Patch::Merge(json!({"spec": {"template": {"spec": pod}}}));
    let deployments: Api<Deployment> = Api::namespaced(server.client(), "tests");
    deployments.patch("docs", &parameters, &patch).await.unwrap();
    assert!(owners(&deployment(server)).contains(&"ragengine-operator Update".to_owned()));
}

/// A changed port conflicts with ours, so the whole list is replaced. That write must leave no second owner.
#[tokio::test(start_paused = true)]
async fn a_repaired_field_has_one_owner() {
    let server = server_with(&engine("{replicas: 0}"));
    let controller = Controller::start(&server);
    pass(A_WHILE).await;
    let ports = server.get("services", "docs").unwrap()["spec"]["ports"].clone();
    drop(server.calls());
    server.edit("services", "docs", |object| {
        object["spec"]["ports"][0]["port"] = json!(8080);
        object["metadata"]["annotations"]["theirs"] = json!("yes");
    });
    pass(A_WHILE).await;
    let refused = server.calls().iter().filter(|call| call.resource == "services" && call.status == Some(422)).count();
    assert_eq!(refused, 1, "two ports with the same name are refused");
    let service = server.get("services", "docs").unwrap();
    assert_eq!((&service["spec"]["ports"], &service["metadata"]["annotations"]["theirs"]), (&ports, &json!("yes")));
    assert_eq!(owners(&service), ["ragengine-operator Apply", "kubectl-edit Update"]);
    let ready = condition(&server, "docs", ConditionType::Ready).unwrap();
    assert_eq!(ready.reason, Reason::Stopped);
    controller.stop().await;
}

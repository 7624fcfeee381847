//! The operator writes nothing when nothing has changed.

use ragengine_operator::cluster_issuer::Issuer;
use ragengine_operator_api::{ConditionType, Reason};

use crate::api_server::{ApiServer, pass};
use crate::controller::{
    A_MOMENT, A_SECOND_MORE, A_WHILE, Controller, condition, object_writes, server_with, status, until, writes,
};
use crate::fixture::{engine, fixtures, issuer};

#[tokio::test(start_paused = true)]
async fn the_requests_that_create_a_new_engine() {
    let server = server_with(&engine("{replicas: 0, storage: {persistentVolume: {size: 1Gi}}, networkPolicy: {}}"));
    let controller = Controller::start(&server);
    pass(A_WHILE).await;
    let calls: Vec<_> = server.calls().iter().map(|call| format!("{call:?}")).collect();
    insta::assert_yaml_snapshot!("a_new_engine", calls);
    assert_eq!(condition(&server, "docs", ConditionType::Ready).unwrap().reason, Reason::Stopped);
    controller.stop().await;
}

/// The operator recognises the objects of every fixture as stored by a real server, also after its restart.
#[tokio::test(start_paused = true)]
async fn nothing_is_written_when_nothing_has_changed() {
    for (name, mut engine) in fixtures() {
        engine.spec.replicas = 0;
        let server = server_with(&engine);
        let name_of_engine = engine.metadata.name.clone().unwrap();
        let controller = Controller::start(&server);
        controller.context.cluster_issuer.note(Ok(Issuer::clone(&issuer())));
        let is_made = || {
            condition(&server, &name_of_engine, ConditionType::Ready)
                .is_some_and(|ready| ready.reason == Reason::Stopped)
        };
        until(&name, &server, is_made).await;
        pass(A_WHILE).await;
        drop(server.calls());
        pass(A_WHILE).await;
        assert_eq!(writes(&server), [], "{name}");
        controller.stop().await;

        let restarted = Controller::start(&server);
        pass(A_WHILE).await;
        assert_eq!(writes(&server), [], "{name}, after a restart");
        let before = status(&server, &name_of_engine);
        // Another client changes fields that the operator does not set.
        server.edit("deployments", &name_of_engine, |object| object["metadata"]["annotations"]["theirs"] = "a".into());
        server.edit("services", &name_of_engine, |object| object["spec"]["sessionAffinity"] = "ClientIP".into());
        pass(A_WHILE).await;
        assert_eq!(writes(&server), [], "{name}, after a foreign change");
        assert_eq!(status(&server, &name_of_engine), before);
        restarted.stop().await;
    }
}

/// The API server stores some values in another form than they are sent.
#[tokio::test(start_paused = true)]
async fn values_that_the_api_server_normalises_are_not_sent_again() {
    let spec = "
        replicas: 0
        resources: {requests: {memory: 1024Mi, cpu: '0.5'}, limits: {memory: 1.5Gi, cpu: 2000m}}
        podTemplate:
          spec:
            hostNetwork: false
            imagePullSecrets: []
            containers:
              - name: ragengine
                env: [{name: EMPTY, value: ''}]
                tty: false
                readinessProbe: {initialDelaySeconds: 0}
                volumeMounts: [{name: more, mountPath: /more, readOnly: false, subPath: ''}]
            volumes: [{name: more, emptyDir: {sizeLimit: 1024Mi}}]
    ";
    let server = server_with(&engine(spec));
    let controller = Controller::start(&server);
    pass(A_WHILE).await;
    controller.stop().await;
    drop(server.calls());
    let restarted = Controller::start(&server);
    pass(A_WHILE).await;
    assert_eq!(writes(&server), []);
    restarted.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_changed_or_deleted_object_is_repaired_once() {
    let server = server_with(&engine("{replicas: 0, networkPolicy: {}, storage: {persistentVolume: {size: 1Gi}}}"));
    let controller = Controller::start(&server);
    pass(A_WHILE).await;
    drop(server.calls());
    let replicas = |server: &ApiServer| server.get("deployments", "docs").unwrap()["spec"]["replicas"].clone();
    server.edit("deployments", "docs", |object| object["spec"]["replicas"] = 3.into());
    pass(A_WHILE).await;
    assert_eq!(replicas(&server), 0);
    assert_eq!(object_writes(&server), ["patch deployments docs 200"]);
    server.edit("deployments", "docs", |object| {
        object["spec"]["template"]["spec"].as_object_mut().unwrap().remove("automountServiceAccountToken");
    });
    pass(A_WHILE).await;
    assert_eq!(object_writes(&server), ["patch deployments docs 200"]);
    for (resource, name, verb) in [
        ("configmaps", "docs-settings", "patch"),
        ("serviceaccounts", "docs", "patch"),
        ("services", "docs", "patch"),
        ("deployments", "docs", "patch"),
        ("networkpolicies", "docs", "patch"),
        ("persistentvolumeclaims", "docs-data", "patch"),
        ("secrets", "docs-write", "create"),
    ] {
        server.delete(resource, name);
        // The repair comes at once: it does not wait as for a lagging cache.
        pass(A_MOMENT).await;
        assert!(server.get(resource, name).is_some(), "{resource}");
        pass(A_WHILE).await;
        let name = if verb == "create" { "" } else { name };
        assert_eq!(object_writes(&server), [format!("{verb} {resource} {name} 201")]);
    }
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn fields_and_objects_that_leave_the_spec_are_removed() {
    let server =
        server_with(&engine("{replicas: 0, networkPolicy: {}, compute: {labelSelector: {matchLabels: {a: b}}}}"));
    let controller = Controller::start(&server);
    pass(A_WHILE).await;
    drop(server.calls());
    server.edit("ragengines", "docs", |object| {
        object["spec"] = serde_json::json!({"replicas": 0, "auth": {"writes": "open"}});
    });
    pass(A_WHILE).await;
    assert_eq!(
        object_writes(&server),
        ["delete networkpolicies docs 200", "patch configmaps docs-settings 200", "patch deployments docs 200",]
    );
    let pod = server.get("deployments", "docs").unwrap()["spec"]["template"]["spec"].clone();
    assert!(pod["nodeSelector"].is_null());
    assert!(
        server.get("secrets", "docs-write").is_some(),
        "the operator may not delete Secrets; it is deleted with the engine"
    );
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn foreign_objects_are_neither_adopted_nor_removed() {
    let server = server_with(&engine("{replicas: 0, auth: {writes: open}}"));
    let theirs = |name: &str| serde_json::json!({"metadata": {"name": name, "labels": {"theirs": "yes"}}, "spec": {}});
    server.put("services", theirs("docs"));
    server.put("networkpolicies", theirs("docs"));
    server.put("secrets", theirs("docs-write"));
    let (service, secret) = (server.get("services", "docs"), server.get("secrets", "docs-write"));
    let controller = Controller::start(&server);
    pass(A_WHILE).await;
    let degraded = condition(&server, "docs", ConditionType::Degraded).unwrap();
    assert_eq!(degraded.reason, Reason::ObjectRefused);
    assert!(degraded.message.contains("Service docs"), "{}", degraded.message);
    assert_eq!((server.get("services", "docs"), server.get("secrets", "docs-write")), (service, secret));
    assert!(server.get("networkpolicies", "docs").is_some());
    server.delete("services", "docs");
    until("Stopped", &server, || {
        condition(&server, "docs", ConditionType::Ready).is_some_and(|ready| ready.reason == Reason::Stopped)
    })
    .await;
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_secret_created_later_is_noticed_at_once() {
    let server = server_with(&engine("{replicas: 0, inferenceService: {accessSecret: llm}}"));
    server.delete("secrets", "llm");
    let controller = Controller::start(&server);
    pass(A_WHILE).await;
    let degraded = condition(&server, "docs", ConditionType::Degraded).unwrap();
    assert_eq!(degraded.reason, Reason::SecretMissing);
    assert!(degraded.message.contains("Secret llm"), "{}", degraded.message);
    assert!(server.get("deployments", "docs").is_none());
    drop(server.calls());
    server.put("secrets", serde_json::json!({"metadata": {"name": "llm"}}));
    pass(A_SECOND_MORE).await;
    assert_eq!(object_writes(&server), ["patch deployments docs 201"]);
    pass(A_WHILE).await;
    assert_eq!(condition(&server, "docs", ConditionType::Ready).unwrap().reason, Reason::Stopped);
    drop(server.calls());
    server.put("secrets", serde_json::json!({"metadata": {"name": "llm"}, "data": {"LLM_ACCESS_SECRET": "bmV3"}}));
    pass(A_SECOND_MORE).await;
    assert_eq!(object_writes(&server), ["patch deployments docs 200"], "a changed Secret rolls the pod");
    server.put("secrets", serde_json::json!({"metadata": {"name": "unrelated"}}));
    pass(A_WHILE).await;
    assert_eq!(object_writes(&server), Vec::<String>::new());
    controller.stop().await;
}

//! An engine whose server has TLS.

use ragengine_operator::rag_engine::build::build;
use ragengine_operator_api::{ConditionType, Reason};
use serde_json::{Value, json};

use crate::api_server::pass;
use crate::controller::{A_WHILE, Controller, condition, object_writes, server_with, status, until};
use crate::fixture::{all_there, built, defaults, engine, valid};

const TLS: &str = "{tls: {secretName: certificate}}";

/// The Deployment's pod and the Service's ports.
fn parts(spec: &str) -> (Value, Value) {
    let desired = built(&engine(spec));
    let pod = json!(desired.deployment.unwrap().spec.unwrap().template);
    (pod, json!(desired.service.spec.unwrap().ports))
}

#[test]
fn the_certificate_and_its_key_are_mounted_where_the_settings_say() {
    let (pod, ports) = parts(TLS);
    let named = |list: &Value| {
        let mut list = list.as_array().unwrap().iter();
        list.find(|entry| entry["name"] == "server-tls").cloned().unwrap()
    };
    let items = json!([{"key": "tls.crt", "path": "tls.crt"}, {"key": "tls.key", "path": "tls.key"}]);
    assert_eq!(named(&pod["spec"]["volumes"])["secret"], json!({"secretName": "certificate", "items": items}));
    let server = &pod["spec"]["containers"][0];
    let mount = named(&server["volumeMounts"]);
    // The kubelet does not update a single file that is mounted.
    assert_eq!((&mount["readOnly"], &mount["subPath"]), (&json!(true), &Value::Null));
    let tls = valid(&engine(TLS)).settings.tls;
    let folder = mount["mountPath"].as_str().unwrap();
    assert_eq!(tls.certificate_file.unwrap().to_str().unwrap(), format!("{folder}/tls.crt"));
    assert_eq!(tls.key_file.unwrap().to_str().unwrap(), format!("{folder}/tls.key"));
    assert_eq!((&ports[0]["port"], &ports[0]["appProtocol"]), (&json!(80), &json!("https")));
    assert_eq!((&ports[1]["name"], &ports[1]["appProtocol"]), (&json!("admin"), &Value::Null));
}

/// Only the port for clients has TLS. A server of another version is probed there.
#[test]
fn probes_use_the_scheme_of_their_port() {
    let other = "image: {tag: 0.0.9}";
    for (spec, port, scheme) in [
        (TLS, "admin", "HTTP"),
        ("{}", "admin", "HTTP"),
        (&format!("{{tls: {{secretName: certificate}}, {other}}}"), "http", "HTTPS"),
        (&format!("{{{other}}}"), "http", "HTTP"),
    ] {
        let (pod, _) = parts(spec);
        for probe in ["startupProbe", "livenessProbe", "readinessProbe"] {
            let get = &pod["spec"]["containers"][0][probe]["httpGet"];
            assert_eq!((&get["port"], &get["scheme"]), (&json!(port), &json!(scheme)), "{spec}: {probe}");
        }
    }
}

#[test]
fn the_service_of_a_running_server_without_tls_does_not_promise_it() {
    let plain = built(&engine("{}")).deployment.unwrap();
    let validated = valid(&engine(TLS));
    let mut observed = all_there(&validated);
    observed.deployment = Some(plain.into());
    let protocol = |observed: &_| {
        let desired = build(&validated, observed, &defaults()).unwrap();
        desired.service.spec.unwrap().ports.unwrap()[0].app_protocol.clone()
    };
    assert_eq!(protocol(&observed).as_deref(), Some("https"));
    observed.references[0].version = None;
    assert_eq!(protocol(&observed), None, "the Secret is missing, so the server stays as it is");
}

#[tokio::test(start_paused = true)]
async fn a_missing_certificate_is_reported_and_a_renewed_one_changes_nothing() {
    let server = server_with(&engine(TLS));
    server.delete("secrets", "certificate");
    let controller = Controller::start(&server);
    until("SecretMissing", &server, || {
        condition(&server, "docs", ConditionType::Ready).is_some_and(|ready| ready.reason == Reason::SecretMissing)
    })
    .await;
    let message = condition(&server, "docs", ConditionType::Ready).unwrap().message;
    assert!(message.contains("Secret certificate"), "{message}");
    assert!(server.get("deployments", "docs").is_none());
    server.put("secrets", json!({"metadata": {"name": "certificate"}, "data": {"tls.crt": "YQ=="}}));
    until("a Deployment", &server, || server.get("deployments", "docs").is_some()).await;
    let endpoint = "https://docs.tests.svc.cluster.local:80/v1";
    until("an endpoint", &server, || status(&server, "docs").endpoint.as_deref() == Some(endpoint)).await;
    pass(A_WHILE).await;
    drop(object_writes(&server));
    server.edit("secrets", "certificate", |secret| secret["data"] = json!({"tls.crt": "Yg=="}));
    pass(A_WHILE).await;
    assert_eq!(object_writes(&server), [""; 0], "the server reads the new certificate itself");
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn another_secret_or_no_tls_rolls_the_pod() {
    let server = server_with(&engine(TLS));
    let controller = Controller::start(&server);
    let volume = |server: &crate::api_server::ApiServer| {
        let pod = server.get("deployments", "docs")?["spec"]["template"].clone();
        let volumes = pod["spec"]["volumes"].as_array()?.clone();
        let tls = volumes.into_iter().find(|volume| volume["name"] == "server-tls");
        Some((
            tls.map(|tls| tls["secret"]["secretName"].clone()),
            pod["metadata"]["labels"]["ragengine.dev/scheme"].clone(),
        ))
    };
    until("a pod with TLS", &server, || volume(&server) == Some((Some(json!("certificate")), json!("https")))).await;
    server.put("secrets", json!({"metadata": {"name": "other"}}));
    server.edit("ragengines", "docs", |engine| engine["spec"]["tls"] = json!({"secretName": "other"}));
    until("the other Secret", &server, || volume(&server) == Some((Some(json!("other")), json!("https")))).await;
    server.edit("ragengines", "docs", |engine| engine["spec"]["tls"] = Value::Null);
    until("no TLS", &server, || volume(&server) == Some((None, Value::Null))).await;
    let endpoint = "http://docs.tests.svc.cluster.local/v1";
    until("the endpoint", &server, || status(&server, "docs").endpoint.as_deref() == Some(endpoint)).await;
    controller.stop().await;
}

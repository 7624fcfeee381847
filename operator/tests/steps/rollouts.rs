//! An upgraded operator rolls out its new image to a few engines at a time.

use ragengine_operator::defaults::Defaults;
use ragengine_operator::rollouts::Rollouts;
use ragengine_operator_api::{ConditionStatus, ConditionType, Reason};
use serde_json::json;

use crate::api_server::{ApiServer, pass};
use crate::controller::{A_MOMENT, A_SECOND_MORE, A_WHILE, Controller, LONG, condition, manifest, status};
use crate::fixture::{defaults, engine};

const ENGINES: [&str; 5] = ["a", "b", "c", "d", "e"];

/// An API server with engines that an operator of the previous version has set up.
async fn set_up(spec: &str) -> ApiServer {
    set_up_on(ApiServer::default(), spec).await
}

async fn set_up_on(server: ApiServer, spec: &str) -> ApiServer {
    for name in ENGINES {
        let mut object = manifest(&engine(spec));
        object["metadata"]["name"] = json!(name);
        server.put("ragengines", object);
    }
    let controller = Controller::start(&server);
    pass(A_WHILE).await;
    controller.stop().await;
    assert_eq!(with_image(&server, "ragengine:0.1.0"), ENGINES);
    server
}

/// An operator of the next version, which rolls out two engines at a time.
fn upgraded(server: &ApiServer) -> Controller {
    let defaults =
        Defaults { server_image: "ragengine:0.2.0".parse().unwrap(), rollouts: Rollouts::new(2), ..defaults() };
    Controller::start_with(server, defaults)
}

/// The engines whose Deployments have this image.
fn with_image(server: &ApiServer, image: &str) -> Vec<&'static str> {
    let has = |name: &str| {
        let deployment = server.get("deployments", name).unwrap();
        deployment["spec"]["template"]["spec"]["containers"][0]["image"] == image
    };
    ENGINES.into_iter().filter(|name| has(name)).collect()
}

#[tokio::test(start_paused = true)]
async fn engines_wait_for_their_turn() {
    let server = set_up("{}").await;
    let controller = upgraded(&server);
    pass(A_WHILE).await;
    let rolled = with_image(&server, "ragengine:0.2.0");
    assert_eq!(rolled.len(), 2, "{rolled:?}");
    let waiting: Vec<_> = ENGINES.into_iter().filter(|name| !rolled.contains(name)).collect();
    for name in &waiting {
        let settings = server.get("deployments", name).unwrap();
        assert_eq!(settings["metadata"]["generation"], 1, "{name} is unchanged");
        assert_eq!(status(&server, name).observed_generation, Some(1));
    }
    // No engine ever becomes ready here. A broken rollout still frees its slot after a while.
    pass(LONG).await;
    assert_eq!(with_image(&server, "ragengine:0.2.0").len(), 4);
    pass(LONG).await;
    assert_eq!(with_image(&server, "ragengine:0.2.0"), ENGINES);
    controller.stop().await;
}

/// Earlier versions computed the hash of the references differently. A different hash is then not a change.
#[tokio::test(start_paused = true)]
async fn engines_with_a_reference_hash_of_an_earlier_version_wait_too() {
    let server = ApiServer::default();
    server.put("secrets", json!({"metadata": {"name": "llm"}}));
    let server = set_up_on(server, "{inferenceService: {url: 'http://llm/v1', accessSecret: llm}}").await;
    for name in ENGINES {
        server.edit("deployments", name, |deployment| {
            let annotations = deployment["spec"]["template"]["metadata"]["annotations"].as_object_mut().unwrap();
            assert!(annotations.remove("ragengine.dev/references-content-hash").is_some());
            annotations.insert("ragengine.dev/references-hash".to_owned(), json!("another"));
            deployment["metadata"]["annotations"]["ragengine.dev/applied-hash"] = json!("another");
        });
    }
    let controller = upgraded(&server);
    pass(A_WHILE).await;
    assert_eq!(with_image(&server, "ragengine:0.2.0").len(), 2);
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_changed_spec_does_not_wait_and_a_finished_rollout_frees_its_slot() {
    let server = set_up("{}").await;
    let controller = upgraded(&server);
    pass(A_SECOND_MORE).await;
    let rolled = with_image(&server, "ragengine:0.2.0");
    let waiting: Vec<_> = ENGINES.into_iter().filter(|name| !rolled.contains(name)).collect();
    server.edit("ragengines", waiting[0], |object| object["spec"]["retrieval"] = json!({"maxDistance": 1.1}));
    pass(A_MOMENT).await;
    assert!(with_image(&server, "ragengine:0.2.0").contains(&waiting[0]), "its spec has changed");
    // A stopped engine is in its desired state.
    server.edit("ragengines", rolled[0], |object| object["spec"]["replicas"] = json!(0));
    pass(A_WHILE).await;
    assert_eq!(condition(&server, rolled[0], ConditionType::Ready).unwrap().reason, Reason::Stopped);
    assert_eq!(with_image(&server, "ragengine:0.2.0").len(), 4, "its slot is free");
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_stopped_engine_does_not_wait() {
    let server = set_up("{replicas: 0}").await;
    let controller = upgraded(&server);
    pass(A_SECOND_MORE).await;
    assert_eq!(with_image(&server, "ragengine:0.2.0"), ENGINES);
    controller.stop().await;
}

/// A changed Secret or a changed object is not an upgrade.
#[tokio::test(start_paused = true)]
async fn repairs_and_changed_references_do_not_wait() {
    let server = ApiServer::default();
    server.put("secrets", json!({"metadata": {"name": "llm"}}));
    server.put("ragengines", manifest(&engine("{inferenceService: {accessSecret: llm}}")));
    // Zero rollouts at a time.
    let controller = Controller::start_with(&server, Defaults { rollouts: Rollouts::new(0), ..defaults() });
    pass(A_WHILE).await;
    let annotations =
        || server.get("deployments", "docs").unwrap()["spec"]["template"]["metadata"]["annotations"].clone();
    let before = annotations();
    server.put("secrets", json!({"metadata": {"name": "llm"}, "data": {"LLM_ACCESS_SECRET": "bmV3"}}));
    pass(A_WHILE).await;
    assert_ne!(annotations(), before);
    server.edit("deployments", "docs", |object| object["spec"]["replicas"] = json!(3));
    pass(A_WHILE).await;
    assert_eq!(server.get("deployments", "docs").unwrap()["spec"]["replicas"], 1);
    let progressing = condition(&server, "docs", ConditionType::Progressing).unwrap();
    assert_eq!(progressing.status, ConditionStatus::True);
    assert!(!progressing.message.contains("its turn"), "{}", progressing.message);
    controller.stop().await;
}

//! An operator that was upgraded rolls the engines few by few.

use ragengine_operator::defaults::Defaults;
use ragengine_operator::rollouts::Rollouts;
use ragengine_operator_api::{ConditionStatus, ConditionType, Reason};
use serde_json::json;

use crate::api_server::{ApiServer, pass};
use crate::controller::{A_MOMENT, A_SECOND_MORE, A_WHILE, Controller, LONG, as_made, condition, status};
use crate::fixture::{defaults, engine};

const ENGINES: [&str; 5] = ["a", "b", "c", "d", "e"];

/// Engines that were made, and whose status says so.
async fn made_before(spec: &str) -> ApiServer {
    made_on(ApiServer::default(), spec).await
}

async fn made_on(server: ApiServer, spec: &str) -> ApiServer {
    for name in ENGINES {
        let mut object = as_made(&engine(spec));
        object["metadata"]["name"] = json!(name);
        server.put("ragengines", object);
    }
    let controller = Controller::start(&server);
    pass(A_WHILE).await;
    controller.stop().await;
    assert_eq!(of_image(&server, "ragengine:0.1.0"), ENGINES);
    server
}

/// An operator of the next version, which rolls two at a time.
fn upgraded(server: &ApiServer) -> Controller {
    let defaults =
        Defaults { server_image: "ragengine:0.2.0".parse().unwrap(), rollouts: Rollouts::new(2), ..defaults() };
    Controller::start_with(server, defaults)
}

/// The engines whose Deployments have this image.
fn of_image(server: &ApiServer, image: &str) -> Vec<&'static str> {
    let has = |name: &str| {
        let deployment = server.get("deployments", name).unwrap();
        deployment["spec"]["template"]["spec"]["containers"][0]["image"] == image
    };
    ENGINES.into_iter().filter(|name| has(name)).collect()
}

#[tokio::test(start_paused = true)]
async fn engines_wait_for_their_turn_and_say_so() {
    let server = made_before("{}").await;
    let controller = upgraded(&server);
    pass(A_WHILE).await;
    let rolled = of_image(&server, "ragengine:0.2.0");
    assert_eq!(rolled.len(), 2, "{rolled:?}");
    let waiting: Vec<_> = ENGINES.into_iter().filter(|name| !rolled.contains(name)).collect();
    for name in &waiting {
        let settings = server.get("deployments", name).unwrap();
        assert_eq!(settings["metadata"]["generation"], 1, "{name} is as it was");
        assert_eq!(status(&server, name).observed_generation, Some(1));
    }
    // A broken one does not keep its place for ever: none of these ever becomes ready.
    pass(LONG).await;
    assert_eq!(of_image(&server, "ragengine:0.2.0").len(), 4);
    pass(LONG).await;
    assert_eq!(of_image(&server, "ragengine:0.2.0"), ENGINES);
    controller.stop().await;
}

/// Earlier versions have reckoned the version of a Secret otherwise: that one differs is no change of it.
#[tokio::test(start_paused = true)]
async fn engines_with_secrets_that_an_earlier_version_made_wait_too() {
    let server = ApiServer::default();
    server.put("secrets", json!({"metadata": {"name": "llm"}}));
    let server = made_on(server, "{inferenceService: {url: 'http://llm/v1', accessSecret: llm}}").await;
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
    assert_eq!(of_image(&server, "ragengine:0.2.0").len(), 2);
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn who_asks_for_something_else_does_not_wait_and_who_is_done_makes_room() {
    let server = made_before("{}").await;
    let controller = upgraded(&server);
    pass(A_SECOND_MORE).await;
    let rolled = of_image(&server, "ragengine:0.2.0");
    let waiting: Vec<_> = ENGINES.into_iter().filter(|name| !rolled.contains(name)).collect();
    server.edit("ragengines", waiting[0], |object| object["spec"]["retrieval"] = json!({"maxDistance": 1.1}));
    pass(A_MOMENT).await;
    assert!(of_image(&server, "ragengine:0.2.0").contains(&waiting[0]), "its specification is another one");
    // One that is stopped is as it is asked to be.
    server.edit("ragengines", rolled[0], |object| object["spec"]["replicas"] = json!(0));
    pass(A_WHILE).await;
    assert_eq!(condition(&server, rolled[0], ConditionType::Ready).unwrap().reason, Reason::Stopped);
    assert_eq!(of_image(&server, "ragengine:0.2.0").len(), 4, "its place was free");
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn who_is_stopped_has_nothing_to_wait_for() {
    let server = made_before("{replicas: 0}").await;
    let controller = upgraded(&server);
    pass(A_SECOND_MORE).await;
    assert_eq!(of_image(&server, "ragengine:0.2.0"), ENGINES);
    controller.stop().await;
}

/// A Secret that was changed, or an object that somebody else has changed, is no upgrade.
#[tokio::test(start_paused = true)]
async fn what_is_repaired_or_refers_to_something_else_does_not_wait() {
    let server = ApiServer::default();
    server.put("secrets", json!({"metadata": {"name": "llm"}}));
    server.put("ragengines", as_made(&engine("{inferenceService: {accessSecret: llm}}")));
    // No place at all.
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
    assert!(!progressing.message.contains("others"), "{}", progressing.message);
    controller.stop().await;
}

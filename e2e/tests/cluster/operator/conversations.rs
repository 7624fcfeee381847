use k8s_openapi::api::core::v1::Pod;
use kube::api::DeleteParams;
use ragengine_e2e::Error;
use ragengine_e2e::engine::Engine;
use ragengine_e2e::namespace::in_namespace;
use ragengine_e2e::operator::Operator;
use ragengine_e2e::redis::{self, REDIS};
use ragengine_e2e::server::documents;
use serde_json::{Value, json};

const SESSION: &str = "session-of-ann";

/// A question of the session. Returns the reply.
async fn query(engine: &Engine<'_>, question: &str) -> Result<Value, Error> {
    engine.post("/query", &json!({"query": question, "session_id": SESSION})).await?.ok()
}

/// The number of messages of the session.
async fn messages(engine: &Engine<'_>) -> Result<usize, Error> {
    let history = engine.get(&format!("/chat/history/{SESSION}")).await?.ok()?;
    Ok(history["messages"].as_array().map_or(0, Vec::len))
}

#[tokio::test]
async fn engines_that_share_redis_keep_their_conversations_apart_and_over_a_restart() {
    in_namespace("conversations", async |namespace| {
        let _operator = Operator::install(namespace).await?;
        let url = redis::start(namespace, "p@ss w/o\"r#d").await?;
        let spec = json!({
            "auth": {"writes": "open"}, "retrieval": {"maxDistance": 1.1},
            "redis": {"url": url, "accessSecret": REDIS}, "sessions": {"store": "redis", "whenDown": "refuse"},
        });
        let one = Engine::start(namespace, "one", &spec).await?;
        let other = Engine::start(namespace, "other", &spec).await?;
        for engine in [&one, &other] {
            engine.post("/index", &documents("sky", &[("moon", "The moon is far away.")])).await?.ok()?;
        }
        query(&one, "How far is the moon?").await?;
        assert_eq!((messages(&one).await?, messages(&other).await?), (2, 0));
        query(&other, "How far is the moon?").await?;
        query(&other, "Is the moon far away?").await?;
        assert_eq!((messages(&one).await?, messages(&other).await?), (2, 4));

        let pod = one.ready_pod().await?;
        let name = pod.metadata.name.clone().unwrap_or_default();
        let deleted = namespace.api::<Pod>().delete(&name, &DeleteParams::default()).await;
        deleted.map_err(Error::kubernetes("deleting the pod"))?;
        one.pod_that("another pod runs", |other| other.metadata.uid != pod.metadata.uid).await?;
        one.until_ready().await?;
        assert_eq!(messages(&one).await?, 2, "a restart keeps the conversation");
        Ok(())
    })
    .await;
}

use k8s_openapi::api::core::v1::{Pod, Secret};
use ragengine_e2e::engine::Engine;
use ragengine_e2e::namespace::{Namespace, in_namespace};
use ragengine_e2e::operator::Operator;
use ragengine_e2e::server::{documents, question};
use ragengine_e2e::{Error, cluster_client, logs, wait};
use serde_json::json;

const NEW_TOKEN: &str = "a-token-of-the-users-own-which-no-log-has";

#[tokio::test]
async fn a_write_needs_the_token_of_the_secret_and_a_chat_needs_none() {
    in_namespace("token", async |namespace| {
        let operator = Operator::install(namespace).await?;
        let engine = Engine::start(namespace, "docs", &json!({"retrieval": {"maxDistance": 1.1}})).await?;
        let moon = documents("sky", &[("moon", "The moon orbits the earth in about 27 days.")]);
        let refused = cluster_client::post(namespace, &engine.url("/index"), &moon).await?;
        assert_eq!(refused.status, 401, "{refused:?}");
        let (secret, where_) = (engine.token_secret(), format!("in the namespace {}", namespace.name));
        assert!(refused.text.contains(&secret) && refused.text.contains(&where_), "{}", refused.text);

        cluster_client::post_with(namespace, &secret, &engine.url("/index"), &moon).await?.ok()?;
        let asked = question("sky", "How long does the moon take to orbit the earth?");
        let answer = cluster_client::post(namespace, &engine.url("/v1/chat/completions"), &asked).await?.ok()?;
        assert_eq!(answer["source_nodes"][0]["doc_id"], "moon", "{answer}");

        rotate(namespace, &engine).await?;
        assert_no_log_has(&engine, &operator, &[&engine.token().await?, NEW_TOKEN]).await
    })
    .await;
}

/// The user replaces the Secret. The pod keeps running, and accepts the new token, and the old one for a while.
async fn rotate(namespace: &Namespace, engine: &Engine<'_>) -> Result<(), Error> {
    let (old, pod) = (engine.token().await?, engine.ready_pod().await?);
    let name = pod.metadata.name.as_deref().unwrap();
    namespace.change::<Secret>(&engine.token_secret(), &json!({"stringData": {"token": NEW_TOKEN}})).await?;
    // The kubelet reads a mounted Secret about once a minute, and immediately when an annotation of the pod changes.
    let seen = json!({"metadata": {"annotations": {"example.com/look-now": "yes"}}});
    namespace.change::<Pod>(name, &seen).await?;
    let sun = documents("sky", &[("sun", "The sun is a star.")]);
    wait::until("the new token is taken", async || {
        let reply = engine.post_with(NEW_TOKEN, "/index", &sun).await.map_err(|error| error.to_string())?;
        if reply.status == 200 { Ok(()) } else { Err(reply.text) }
    })
    .await?;
    engine.post_with(&old, "/index", &sun).await?.ok()?;
    assert_eq!(engine.post_with("another", "/index", &sun).await?.status, 401);
    assert_eq!(engine.post("/index", &sun).await?.status, 401);
    assert_eq!(engine.ready_pod().await?.metadata.uid, pod.metadata.uid);
    // The operator does not change the user's token.
    assert_eq!(engine.token().await?, NEW_TOKEN);
    Ok(())
}

async fn assert_no_log_has(engine: &Engine<'_>, operator: &Operator, secrets: &[&str]) -> Result<(), Error> {
    let (server, acting) = (engine.ready_pod().await?, operator.acting_pod().await?);
    let of_engine = logs::of(&engine.pods(), server.metadata.name.as_deref().unwrap(), "ragengine").await?;
    let of_operator = logs::of(&operator.pods(), acting.metadata.name.as_deref().unwrap(), "operator").await?;
    for log in [of_engine, of_operator] {
        assert!(!log.is_empty() && secrets.iter().all(|secret| !log.contains(secret)), "{log}");
    }
    Ok(())
}

#[tokio::test]
async fn an_engine_whose_writes_are_open_has_no_token() {
    in_namespace("open", async |namespace| {
        let _operator = Operator::install(namespace).await?;
        let engine = Engine::start(namespace, "docs", &json!({"auth": {"writes": "open"}})).await?;
        assert!(!namespace.has::<Secret>(&engine.token_secret()).await?);
        engine.post("/index", &documents("sky", &[("sun", "The sun is a star.")])).await?.ok()?;
        Ok(())
    })
    .await;
}

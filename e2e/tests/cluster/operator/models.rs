use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::ObjectMeta;
use ragengine_e2e::Error;
use ragengine_e2e::engine::{Engine, condition};
use ragengine_e2e::namespace::{Namespace, in_namespace};
use ragengine_e2e::operator::Operator;
use ragengine_e2e::server::documents;
use ragengine_e2e::upstream::Upstream;
use ragengine_operator_api::{ConditionStatus, ConditionType, Reason};
use serde_json::{Value, json};

const KEY: &str = "the-key-that-is-taken";

#[tokio::test]
async fn the_embedding_settings_of_the_resource_reach_the_endpoint() {
    in_namespace("embedding", async |namespace| {
        let _operator = Operator::install(namespace).await?;
        let upstream = Upstream::start(namespace, KEY, "").await?;
        secret(namespace, "embeddings", "EMBEDDING_ACCESS_SECRET", KEY).await?;
        let remote = json!({
            "url": upstream.url(), "model": "a-model", "accessSecret": "embeddings", "dimensions": 48,
            "maxTokens": 100, "batchSize": 2, "queryPrefix": "query: ", "passagePrefix": "passage: ",
        });
        let spec = json!({
            "embedding": {"remote": remote}, "auth": {"writes": "open"}, "retrieval": {"maxDistance": 2.0},
        });
        let engine = Engine::start(namespace, "docs", &spec).await?;
        let three = [("moon", "The moon is grey."), ("sun", "The sun is yellow."), ("mars", "Mars is red.")];
        engine.post("/index", &documents("sky", &three)).await?.ok()?;
        let found = engine.post("/retrieve", &json!({"index_name": "sky", "query": "Is mars red?"})).await?.ok()?;
        assert_eq!(found["results"][0]["doc_id"], "mars", "{found}");

        let asked = upstream.requests("/v1/embeddings").await?;
        for request in &asked {
            assert_eq!(request["authorization"], format!("Bearer {KEY}"), "{request}");
            assert_eq!(request["body"]["model"], "a-model", "{request}");
            assert_eq!(request["body"]["dimensions"], 48, "{request}");
            assert!(inputs(request).len() <= 2, "{request}");
        }
        let inputs: Vec<String> = asked.iter().flat_map(inputs).collect();
        for text in ["passage: The moon is grey.", "passage: Mars is red.", "query: Is mars red?"] {
            assert!(inputs.iter().any(|input| input == text), "{text} is not in {inputs:?}");
        }
        // The key is only in its Secret.
        let settings: ConfigMap = namespace.get("docs-settings").await?;
        assert!(!format!("{settings:?}{:?}{:?}", engine.object().await?, engine.deployment().await?).contains(KEY));
        Ok(())
    })
    .await;
}

fn inputs(request: &Value) -> Vec<String> {
    let input = &request["body"]["input"];
    let texts = input.as_array().map_or_else(|| vec![input.clone()], Clone::clone);
    texts.iter().filter_map(|text| text.as_str().map(str::to_owned)).collect()
}

#[tokio::test]
async fn a_language_model_that_refuses_the_key_is_reported_until_the_key_is_right() {
    in_namespace("refused", async |namespace| {
        let _operator = Operator::install(namespace).await?;
        let upstream = Upstream::start(namespace, KEY, "The moon is far away [1].").await?;
        secret(namespace, "language-model", "LLM_ACCESS_SECRET", "another-key").await?;
        let spec = json!({
            "inferenceService": {"url": upstream.url(), "accessSecret": "language-model"},
            "auth": {"writes": "open"}, "retrieval": {"maxDistance": 1.1},
        });
        let engine = Engine::apply(namespace, "docs", &spec).await?;
        // Until the Service forwards to the model, the message is that it does not answer.
        let observed = engine.until_status("the status reports that the key is refused", |engine| {
            condition(engine, ConditionType::Degraded).is_some_and(|degraded| {
                degraded.reason == Reason::InferenceServiceFailed && degraded.message.contains("refuses the key")
            })
        });
        let observed = serde_json::to_string(&observed.await?.status).unwrap();
        assert!(!observed.contains("another-key"), "{observed}");
        // Search still works.
        engine.post("/index", &documents("sky", &[("moon", "The moon is far away.")])).await?.ok()?;

        let pod = engine.ready_pod().await?;
        namespace.change::<Secret>("language-model", &json!({"stringData": {"LLM_ACCESS_SECRET": KEY}})).await?;
        engine.pod_that("the changed Secret rolls the pod", |other| other.metadata.uid != pod.metadata.uid).await?;
        let ready = engine.until_ready().await?;
        assert_eq!(condition(&ready, ConditionType::Degraded).unwrap().status, ConditionStatus::False);
        let asked = json!({"index_name": "sky", "messages": [{"role": "user", "content": "How far is the moon?"}]});
        engine.post("/index", &documents("sky", &[("moon", "The moon is far away.")])).await?.ok()?;
        let answer = engine.post("/v1/chat/completions", &asked).await?.ok()?;
        assert_eq!(answer["choices"][0]["message"]["content"], "The moon is far away [1].", "{answer}");
        assert_eq!(answer["source_nodes"][0]["doc_id"], "moon", "{answer}");
        let chats = upstream.requests("/v1/chat/completions").await?;
        assert!(chats.last().unwrap().to_string().contains("The moon is far away."), "{chats:?}");
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_missing_language_model_is_reported_and_retrieval_still_works() {
    in_namespace("missing", async |namespace| {
        let _operator = Operator::install(namespace).await?;
        let missing = format!("http://{}:8000/v1", namespace.host("missing"));
        let spec = json!({"inferenceService": {"url": missing}, "auth": {"writes": "open"}});
        let engine = Engine::apply(namespace, "docs", &spec).await?;
        let message = engine.until_not_ready(Reason::InferenceServiceFailed).await?;
        assert!(message.contains("does not answer") && message.contains("retrieval still works"), "{message}");
        engine.post("/index", &documents("sky", &[("moon", "The moon is far away.")])).await?.ok()?;
        let found = engine.post("/retrieve", &json!({"index_name": "sky", "query": "the moon"})).await?.ok()?;
        assert_eq!(found["results"][0]["doc_id"], "moon", "{found}");
        Ok(())
    })
    .await;
}

async fn secret(namespace: &Namespace, name: &str, key: &str, value: &str) -> Result<Secret, Error> {
    let secret = Secret {
        metadata: ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() },
        string_data: Some(BTreeMap::from([(key.to_owned(), value.to_owned())])),
        ..Secret::default()
    };
    namespace.create_object(&secret).await
}

//! An Index whose chunking changes: it answers throughout.

use std::time::{Duration, Instant};

use ragengine_e2e::engine::Engine;
use ragengine_e2e::index::{Index, is, paths, set};
use ragengine_e2e::namespace::in_namespace;
use ragengine_e2e::operator::Operator;
use ragengine_operator_api::{ConditionStatus, ConditionType};
use serde_json::json;

use super::{TEXTS, inline};

/// The time limit for a Job with four documents.
const LIMIT: Duration = Duration::from_secs(180);

/// Repeats a text, so that it has several chunks.
fn long(text: &str) -> String {
    format!("{text} This sentence has about ten tokens in it, more or less.").repeat(12)
}

#[tokio::test]
async fn an_index_with_changed_chunking_answers_throughout() {
    in_namespace("index-generations", async |namespace| {
        let _operator = Operator::install(namespace).await?;
        let engine = Engine::start(namespace, "docs", &json!({})).await?;
        let texts = TEXTS.map(|(path, text)| (path, long(text)));
        let texts: Vec<(&str, &str)> = texts.iter().map(|(path, text)| (*path, text.as_str())).collect();
        let mut spec = inline("docs", "here", &texts);
        let index = Index::start(namespace, "planets", &spec).await?;
        let described = async || engine.get("/indexes/planets").await?.ok();
        let before = described().await?;
        spec["chunking"] = json!({"maxTokens": 32, "overlapTokens": 0});
        index.set(&spec).await?;
        let question = json!({"index_name": "planets", "query": "How long does the moon take around the earth?"});
        let asked = Instant::now();
        let after = loop {
            let found = engine.post("/retrieve", &question).await?.ok()?;
            assert_eq!(found["results"][0]["doc_id"], "planets.here/moon.md");
            let object = index.object().await?;
            assert!(is(&object, ConditionType::Ready, ConditionStatus::True), "it is Ready throughout: {object:?}");
            let now = described().await?;
            if now["fingerprint"] != before["fingerprint"] {
                break now;
            }
            assert!(asked.elapsed() < LIMIT, "the chunking did not change: {now}");
        };
        assert_eq!(
            (&after["documents"], &after["settings"]["chunking"]["maxTokens"]),
            (&before["documents"], &json!(32))
        );
        assert!(after["chunks"].as_u64() > before["chunks"].as_u64(), "{after}");
        assert_eq!(paths(&engine, "planets", "planets.here").await?, set(TEXTS.map(|(path, _)| path)));
        Ok(())
    })
    .await;
}

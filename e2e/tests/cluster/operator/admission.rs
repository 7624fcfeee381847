//! Validation by the API server: it refuses invalid engines with a helpful message, and accepts valid ones.

use ragengine_e2e::Error;
use ragengine_e2e::engine::Engine;
use ragengine_e2e::namespace::{Namespace, in_namespace};
use ragengine_e2e::operator::Operator;
use ragengine_operator_api::RagEngine;
use serde_json::{Value, json};

const IN_USE: [&str; 4] = [
    include_str!("../../../../operator/api/tests/rag_engine/fixtures/model_only.yaml"),
    include_str!("../../../../operator/api/tests/rag_engine/fixtures/nodes_and_language_model.yaml"),
    include_str!("../../../../operator/api/tests/rag_engine/fixtures/older_storage.yaml"),
    include_str!("../../../../operator/api/tests/rag_engine/fixtures/newer_storage.yaml"),
];
const EVERYTHING: &str = include_str!("../../../../operator/api/tests/rag_engine/fixtures/everything.yaml");

const SAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../config/samples");

#[tokio::test]
async fn an_invalid_engine_is_refused_with_a_message() {
    in_namespace("refusals", async |namespace| {
        // Only the definition is needed, no operator.
        Operator::prepare(namespace, &json!({})).await?;
        let made = json!({"replicas": 0, "storage": {"persistentVolume": {"size": "2Gi", "storageClassName": "a"}}});
        let volume = |size: &str, class: &str| json!({"persistentVolume": {"size": size, "storageClassName": class}});
        for (spec, words) in [
            (
                json!({"replicas": 0, "storage": volume("2Gi", "b")}),
                "storage.persistentVolume.storageClassName cannot be changed",
            ),
            (json!({"replicas": 0}), "storage.persistentVolume.size cannot be removed"),
            (
                json!({"replicas": 2, "storage": volume("2Gi", "a")}),
                "needs storage.vectorDB.engine: weaviate or qdrant",
            ),
            (
                json!({
                    "embedding": {"local": {}, "remote": {"url": "http://a.example", "model": "a"}},
                    "storage": volume("2Gi", "a"),
                }),
                "embedding needs exactly one of local and remote",
            ),
            (json!({"inferenceService": {"url": "a.example"}, "storage": volume("2Gi", "a")}), "inferenceService.url"),
        ] {
            let engine = Engine::apply(namespace, "docs", &made).await?;
            let refused = engine.set(&spec).await.unwrap_err().to_string();
            assert!(refused.contains(words), "{words} is not in: {refused}");
        }
        let grown = json!({"replicas": 0, "storage": volume("3Gi", "a")});
        Engine::named(namespace, "docs").set(&grown).await?;
        let capital = Engine::apply(namespace, "9docs", &json!({})).await.err().unwrap().to_string();
        assert!(capital.contains("metadata.name must be at most 50 characters"), "{capital}");
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn manifests_in_use_are_accepted_with_only_their_version_changed() {
    in_namespace("in-use", async |namespace| {
        Operator::prepare(namespace, &json!({})).await?;
        for manifest in IN_USE.iter().chain([&EVERYTHING]) {
            taken_whole(namespace, manifest).await?;
        }
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn every_sample_is_accepted() {
    in_namespace("samples", async |namespace| {
        Operator::prepare(namespace, &json!({})).await?;
        let files = std::fs::read_dir(SAMPLES).unwrap().map(|file| file.unwrap().path());
        let files = files.filter(|file| file.file_name().unwrap().to_string_lossy().starts_with("ragengine"));
        let samples: Vec<String> = files.map(|file| std::fs::read_to_string(file).unwrap()).collect();
        let documents: Vec<&str> = samples.iter().flat_map(|sample| sample.split("\n---\n")).collect();
        let engines: Vec<_> = documents.iter().filter(|document| document.contains("\nkind: RAGEngine\n")).collect();
        assert!(engines.len() >= samples.len(), "{samples:?}");
        for engine in engines {
            taken_whole(namespace, engine).await?;
        }
        Ok(())
    })
    .await;
}

/// Applies a manifest, and asserts that the API server keeps all of its fields.
async fn taken_whole(namespace: &Namespace, manifest: &str) -> Result<(), Error> {
    let manifest: Value = serde_saphyr::from_str(manifest).unwrap();
    let name = manifest["metadata"]["name"].as_str().unwrap();
    let kept: RagEngine = namespace.apply(name, &manifest).await?;
    let kept = serde_json::to_value(kept).unwrap();
    assert_has(&manifest["spec"], &kept["spec"], name);
    Ok(())
}

fn assert_has(written: &Value, kept: &Value, place: &str) {
    match written {
        Value::Object(fields) => {
            fields.iter().for_each(|(name, value)| assert_has(value, &kept[name], &format!("{place}.{name}")));
        }
        _ => assert_eq!(written, kept, "{place}"),
    }
}

//! Validation by the API server, and the output of `kubectl get`.

use ragengine_e2e::Error;
use ragengine_e2e::engine::Engine;
use ragengine_e2e::index::Index;
use ragengine_e2e::namespace::{Namespace, in_namespace};
use ragengine_e2e::operator::Operator;
use ragengine_operator_api::Index as Object;
use serde_json::{Value, json};

use super::inline;

const SAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../config/samples");

#[tokio::test]
async fn an_invalid_index_is_refused_with_a_message() {
    in_namespace("index-refusals", async |namespace| {
        // Only the definition is needed, no operator.
        Operator::prepare(namespace, &json!({})).await?;
        let made = json!({
            "engineRef": {"name": "docs"}, "indexName": "shared", "vectorIndex": "HNSW32",
            "chunking": {"maxTokens": 256, "overlapTokens": 25},
            "sources": [{"name": "a", "inline": {"documents": []}}],
        });
        let index = Index::apply(namespace, "made", &made).await?;
        for (field, value, words) in [
            ("engineRef", json!({"name": "other"}), "engineRef.name cannot be changed"),
            ("indexName", json!("other"), "indexName cannot be changed"),
            ("indexName", Value::Null, "indexName cannot be changed"),
            ("vectorIndex", json!("HNSW3"), "vectorIndex must be auto, Flat, SQ8"),
            ("chunking", json!({"maxTokens": 25, "overlapTokens": 25}), "chunking.overlapTokens must be less than"),
            ("schedule", json!("hourly"), "schedule must have five fields"),
        ] {
            let mut spec = made.clone();
            spec[field] = value;
            if spec[field].is_null() {
                spec.as_object_mut().unwrap().remove(field);
            }
            let refused = index.set(&spec).await.unwrap_err().to_string();
            assert!(refused.contains(words), "{words} is not in: {refused}");
        }
        for (source, words) in bad_sources() {
            let spec = super::of_source("docs", &source);
            let refused = Index::apply(namespace, "refused", &spec).await.err().map(|error| error.to_string());
            let refused = refused.unwrap_or_else(|| panic!("{source} is accepted"));
            assert!(refused.contains(words), "{words} is not in: {refused}");
        }
        let capital = Index::apply(namespace, "9made", &made).await.err().unwrap().to_string();
        assert!(capital.contains("metadata.name must be at most 50 characters"), "{capital}");
        Ok(())
    })
    .await;
}

fn bad_sources() -> Vec<(Value, &'static str)> {
    let url = |url: &str| json!({"name": "a", "http": {"urls": [url]}});
    let git = |url: &str| json!({"name": "a", "git": {"url": url}});
    let path = |path: &str| json!({"name": "a", "inline": {"documents": [{"path": path, "text": ""}]}});
    let folder = |path: &str| json!({"name": "a", "persistentVolumeClaim": {"name": "a", "path": path}});
    vec![
        (json!({"name": "a"}), "exactly one of inline"),
        (
            json!({"name": "a", "configMap": {"name": "a"}, "git": {"url": "https://a.example"}}),
            "exactly one of inline",
        ),
        (json!({"name": "A", "configMap": {"name": "a"}}), "spec.sources[0].name"),
        (json!({"name": "a", "http": {}}), "needs urls or a sitemap"),
        (url("file:///etc/passwd"), "must be http:// or https://"),
        (url("https://me:secret@a.example/"), "must be http:// or https://"),
        (git("git@a.example:a.git"), "must be "),
        (git("https://me:secret@a.example/a.git"), "must be "),
        (path("../a.md"), "must be a path without '.' and '..'"),
        (path("/a.md"), "must be a path without '.' and '..'"),
        (folder("a/../../b"), "must be a path below the volume's root"),
        (json!({"name": "a", "s3": {"bucket": "a", "endpoint": "s3.example.com"}}), "sources[].s3.endpoint must be"),
    ]
}

#[tokio::test]
async fn every_sample_of_an_index_is_accepted() {
    in_namespace("index-samples", async |namespace| {
        Operator::prepare(namespace, &json!({})).await?;
        let files = std::fs::read_dir(SAMPLES).unwrap().map(|file| file.unwrap().path());
        let samples: Vec<String> = files.map(|file| std::fs::read_to_string(file).unwrap()).collect();
        let documents = samples.iter().flat_map(|sample| sample.split("\n---\n"));
        let indexes: Vec<&str> = documents.filter(|document| document.contains("\nkind: Index\n")).collect();
        assert!(indexes.len() >= 5, "{indexes:?}");
        for index in indexes {
            let manifest: Value = serde_saphyr::from_str(index).unwrap();
            namespace.apply::<Object>(manifest["metadata"]["name"].as_str().unwrap(), &manifest).await?;
        }
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn kubectl_shows_documents_revision_and_the_age_of_the_last_synchronisation() {
    in_namespace("index-columns", async |namespace| {
        let _operator = Operator::install(namespace).await?;
        Engine::start(namespace, "docs", &json!({})).await?;
        let index = Index::start(namespace, "planets", &inline("docs", "here", &super::TEXTS)).await?;
        let revision = index.object().await?.status.unwrap().revision.unwrap();
        assert!(revision.len() == 12 && !revision.contains(':'), "{revision}");
        let table = table(namespace).await?;
        let columns: Vec<&str> = table["columnDefinitions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|column| column["name"].as_str().unwrap())
            .collect();
        let cells = table["rows"][0]["cells"].as_array().unwrap();
        let cell = |name: &str| {
            &cells[columns.iter().position(|column| *column == name).unwrap_or_else(|| panic!("{columns:?}"))]
        };
        assert_eq!((cell("Name"), cell("Documents")), (&json!("planets"), &json!(super::TEXTS.len())));
        assert_eq!(
            (cell("Revision"), cell("Ready"), cell("Reason")),
            (&json!(revision), &json!("True"), &json!("Synced"))
        );
        assert!(cell("Synced").as_str().unwrap().ends_with('s'), "an age: {cells:?}");
        Ok(())
    })
    .await;
}

/// Requests the table like `kubectl get indexes`.
async fn table(namespace: &Namespace) -> Result<Value, Error> {
    let request = hyper::Request::get(format!("/apis/ragengine.dev/v1alpha1/namespaces/{}/indexes", namespace.name))
        .header("accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
        .body(Vec::new())
        .unwrap();
    namespace.client.request(request).await.map_err(Error::kubernetes("asking for a table of Indexes"))
}

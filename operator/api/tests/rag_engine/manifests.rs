//! Complete manifests, checked with the Rust types and with the schema.

use std::path::Path;

use ragengine_operator_api::{RagEngine, RagEngineSpec, Storage, VectorDatabase, Volume};
use ragengine_settings::{EmbeddingSource, Settings};
use serde_json::Value;

use crate::admission::{complete, engine, refusals};

const MODEL_ONLY: &str = include_str!("fixtures/model_only.yaml");
const NODES_AND_LANGUAGE_MODEL: &str = include_str!("fixtures/nodes_and_language_model.yaml");
const OLDER_STORAGE: &str = include_str!("fixtures/older_storage.yaml");
const NEWER_STORAGE: &str = include_str!("fixtures/newer_storage.yaml");
const NOT_ACTED_ON: &str = include_str!("fixtures/not_acted_on.yaml");
const WEAVIATE: &str = include_str!("fixtures/weaviate.yaml");
const QDRANT: &str = include_str!("fixtures/qdrant.yaml");
const AUTOSCALING: &str = include_str!("fixtures/autoscaling.yaml");
const EVERYTHING: &str = include_str!("fixtures/everything.yaml");

/// The manifest as the API server stores it. Panics if it is rejected.
fn admitted(manifest: &str) -> Value {
    let object = complete(&serde_saphyr::from_str(manifest).unwrap());
    assert_eq!(refusals(&object, None), Vec::<String>::new(), "{manifest}");
    object
}

#[test]
fn manifests_are_admitted_and_keep_every_field() {
    let of_one_pod = [MODEL_ONLY, NODES_AND_LANGUAGE_MODEL, OLDER_STORAGE, NEWER_STORAGE, NOT_ACTED_ON, EVERYTHING];
    for manifest in of_one_pod.into_iter().chain([WEAVIATE, QDRANT, AUTOSCALING]) {
        let object = admitted(manifest);
        let typed: RagEngine = serde_json::from_value(object.clone()).unwrap();
        assert_eq!(serde_json::to_value(&typed).unwrap(), object, "{manifest}");
        // The Rust types and the schema must have the same defaults.
        let unfilled: RagEngine = serde_saphyr::from_str(manifest).unwrap();
        assert_eq!(unfilled, typed, "{manifest}");
    }
}

/// The RAGEngine manifests of `config/samples`.
fn samples() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/samples");
    let files = std::fs::read_dir(folder).unwrap().map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap());
    let documents = files.flat_map(|file| file.split("\n---\n").map(str::to_owned).collect::<Vec<_>>());
    documents.filter(|document| document.contains("\nkind: RAGEngine\n")).collect()
}

#[test]
fn samples_are_admitted() {
    let samples = samples();
    assert!(samples.len() >= 8, "{} samples", samples.len());
    for manifest in samples {
        admitted(&manifest);
    }
}

#[test]
fn fields_of_older_manifests_keep_their_meaning() {
    let spec = |manifest: &str| serde_saphyr::from_str::<RagEngine>(manifest).unwrap().spec;

    let small = spec(MODEL_ONLY);
    assert_eq!(small.embedding().local.unwrap().model_id, "BAAI/bge-small-en-v1.5");
    assert_eq!(small.replicas, 1);

    let chat = spec(NODES_AND_LANGUAGE_MODEL);
    let compute = chat.compute.unwrap();
    assert_eq!(compute.label_selector.unwrap().match_labels["apps"], "documents");
    assert_eq!(compute.preferred_nodes, ["node-a", "node-b"]);
    let service = chat.inference_service.unwrap();
    assert_eq!(service.url.as_deref(), Some("http://workspace-phi-3-mini/v1/chat/completions"));
    assert_eq!(service.access_secret.as_deref(), Some("language-model"));
    assert_eq!(service.context_window_size, Some(4000));

    let existing = Volume::Existing { claim: "vector-db", mount_path: "/mnt/vector-db" };
    for manifest in [OLDER_STORAGE, NEWER_STORAGE] {
        assert_eq!(spec(manifest).storage.unwrap().volume(), existing);
    }
}

#[test]
fn only_engines_outside_of_the_server_are_external() {
    for (name, is_external, unknown) in [
        ("faiss", false, None),
        ("FAISS", false, None),
        ("weaviate", true, None),
        ("qdrant", true, None),
        // The definition refuses them. An older one did not.
        ("Qdrant", false, Some("Qdrant")),
        ("milvus", false, Some("milvus")),
    ] {
        let database = VectorDatabase { engine: Some(name.to_owned()), ..VectorDatabase::default() };
        assert_eq!((database.is_external(), database.unknown_engine()), (is_external, unknown), "{name}");
        let spec = RagEngineSpec {
            storage: Some(Storage { vector_database: Some(database), ..Storage::default() }),
            ..RagEngineSpec::default()
        };
        assert_eq!(spec.is_external(), is_external, "{name}");
    }
}

#[test]
fn an_empty_spec_gets_the_defaults() {
    let object = engine("{}");
    assert_eq!(refusals(&object, None), Vec::<String>::new());
    let spec: RagEngineSpec = serde_json::from_value(object["spec"].clone()).unwrap();
    assert_eq!(spec, RagEngineSpec::default());
    assert_eq!(spec.embedding().local.unwrap().model_id, "sentence-transformers/all-MiniLM-L6-v2");
    assert_eq!(object["spec"]["resources"]["limits"]["memory"], "2Gi");
    assert_eq!(object["spec"]["replicas"], 1);
}

#[test]
fn a_partial_object_gets_the_defaults_of_its_other_fields() {
    for (spec, field, default) in [
        ("embedding: {local: {}}", "/embedding/local/revision", "\"main\""),
        ("embedding: {remote: {url: 'http://e', model: m}}", "/embedding/remote/maxTokens", "8191"),
        ("inferenceService: {url: 'http://l'}", "/inferenceService/timeoutSeconds", "300"),
        ("storage: {persistentVolume: {size: 1Gi}}", "/storage/persistentVolume/mountPath", "\"/mnt/data\""),
        ("storage: {persistentVolume: {size: 1Gi}}", "/storage/deletionPolicy", "\"Retain\""),
        ("retrieval: {minTopK: 7}", "/retrieval/maxDistance", "0.85"),
        ("autoscaling: {maxReplicas: 1}", "/autoscaling/minReplicas", "1"),
        ("autoscaling: {maxReplicas: 1}", "/autoscaling/targetCPUUtilizationPercentage", "80"),
        ("image: {tag: v1}", "/image/pullPolicy", "\"IfNotPresent\""),
        ("resources: {limits: {memory: 4Gi}}", "/resources/requests/cpu", "\"500m\""),
    ] {
        let object = engine(spec);
        assert_eq!(object["spec"].pointer(field).unwrap().to_string(), default, "{spec}");
        assert_eq!(refusals(&object, None), Vec::<String>::new(), "{spec}");
    }
}

#[test]
fn the_defaults_equal_those_of_the_server() {
    let (spec, settings) = (RagEngineSpec::default(), Settings::default());
    let EmbeddingSource::Local(server) = settings.embedding.source() else {
        panic!("the server's default is not local")
    };
    let local = spec.embedding().local.unwrap();
    assert_eq!((local.model_id, local.revision, local.hub_url), (server.model_id, server.revision, server.hub_url));

    let retrieval = serde_json::to_value(spec.retrieval).unwrap();
    let servers = serde_json::to_value(settings.retrieval).unwrap();
    for (field, value) in retrieval.as_object().unwrap() {
        let difference = servers[field].as_f64().unwrap() - value.as_f64().unwrap();
        assert!(difference.abs() < 1e-6, "{field}: {value} in the resource, {} in the server", servers[field]);
    }

    let remote = "embedding: {remote: {url: 'http://e', model: m}}";
    let EmbeddingSource::Remote(server) = ragengine_settings::from_yaml(remote).unwrap().embedding.source() else {
        panic!("the settings are not remote")
    };
    let remote = serde_saphyr::from_str::<RagEngineSpec>(remote).unwrap().embedding().remote.unwrap();
    assert_eq!((remote.max_tokens, remote.batch_size), (server.max_tokens, server.batch_size));
    assert_eq!(u64::from(remote.timeout_seconds), server.timeout_seconds);
    let service = ragengine_operator_api::InferenceService::default();
    assert_eq!(u64::from(service.timeout_seconds), settings.inference_service.timeout_seconds);
}

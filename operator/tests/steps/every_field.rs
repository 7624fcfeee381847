//! For every field of the spec: which objects it changes, and which settings of the server.

use std::collections::BTreeSet;

use ragengine_operator_api::{RagEngine, rag_engine_definition};
use serde_json::{Map, Value, json};

use crate::fixture::{built, engine, valid};

/// A change of one field, with its expected effects.
struct FieldChange {
    /// The spec before the change, in YAML.
    before: &'static str,
    /// The path of the field.
    field: &'static str,
    /// Its new value.
    value: Value,
    /// The objects that change. `pod` is the pod template: a change rolls the pod.
    objects: &'static [&'static str],
    /// The settings that change. They are in the ConfigMap, and a change also rolls the pod.
    settings: &'static [&'static str],
}

const WITH_MODEL: &str = "{embedding: {local: {modelID: a/b}}}";
const REMOTE: &str = "{embedding: {remote: {url: 'http://e/v1', model: m}}}";
const REMOTE_WITH_SECRET: &str = "{embedding: {remote: {url: 'http://e/v1', model: m, accessSecret: r}}}";
const MANAGED_CLAIM: &str = "{storage: {persistentVolume: {size: 1Gi}}}";
const EXISTING_CLAIM: &str = "{storage: {persistentVolume: {persistentVolumeClaim: c}}}";
const EXISTING_CLAIM_OLD_FIELD: &str = "{storage: {persistentVolumeClaim: c}}";
const NOTHING: &str = "{}";
const DIGEST: &str = "sha256:0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a";

const POD: &[&str] = &["pod"];
const POD_AND_SETTINGS: &[&str] = &["pod", "settings"];
const NO_OBJECT: &[&str] = &[];
const NO_SETTING: &[&str] = &[];

fn change(
    before: &'static str,
    field: &'static str,
    value: impl Into<Value>,
    objects: &'static [&'static str],
    settings: &'static [&'static str],
) -> FieldChange {
    FieldChange { before, field, value: value.into(), objects, settings }
}

/// A field that changes settings of the server.
fn setting(
    before: &'static str,
    field: &'static str,
    value: impl Into<Value>,
    settings: &'static [&'static str],
) -> FieldChange {
    change(before, field, value, POD_AND_SETTINGS, settings)
}

/// A field that changes only the pod template.
fn pod(before: &'static str, field: &'static str, value: impl Into<Value>) -> FieldChange {
    change(before, field, value, POD, NO_SETTING)
}

#[rustfmt::skip]
fn changes() -> Vec<FieldChange> {
    vec![
        change(NOTHING, "replicas", 0, &["deployment"], NO_SETTING),
        setting(NOTHING, "embedding.local.modelID", "a/b", &["embedding.local.modelID"]),
        setting(NOTHING, "embedding.local.revision", "v2", &["embedding.local.modelID", "embedding.local.revision"]),
        setting(WITH_MODEL, "embedding.local.revision", "v2", &["embedding.local.revision"]),
        setting(NOTHING, "embedding.local.hubUrl", "http://h", &["embedding.local.hubUrl"]),
        setting(NOTHING, "embedding.local.modelAccessSecret", "s", &["embedding.local.hubToken"]),
        pod("{embedding: {local: {modelAccessSecret: r}}}", "embedding.local.modelAccessSecret", "s"),
        change("{embedding: {local: {}}}", "embedding.local.image", "i", NO_OBJECT, NO_SETTING),
        change("{embedding: {local: {}}}", "embedding.local.imagePullSecret", "s", NO_OBJECT, NO_SETTING),
        setting(NOTHING, "embedding.local.maxTokens", 100, &["embedding.local.maxTokens"]),
        setting(NOTHING, "embedding.local.pooling", "cls", &["embedding.local.pooling"]),
        setting(NOTHING, "embedding.local.queryPrefix", "q: ", &["embedding.local.queryPrefix"]),
        setting(NOTHING, "embedding.local.queryPrefix", "", &["embedding.local.queryPrefix"]),
        setting(NOTHING, "embedding.local.passagePrefix", "p: ", &["embedding.local.passagePrefix"]),
        setting(REMOTE, "embedding.remote.url", "http://f/v1", &["embedding.remote.url"]),
        setting(REMOTE, "embedding.remote.model", "n", &["embedding.remote.model"]),
        setting(REMOTE, "embedding.remote.accessSecret", "s", &["embedding.remote.apiKey"]),
        pod(REMOTE_WITH_SECRET, "embedding.remote.accessSecret", "s"),
        setting(REMOTE, "embedding.remote.dimensions", 8, &["embedding.remote.dimensions"]),
        setting(REMOTE, "embedding.remote.maxTokens", 8, &["embedding.remote.maxTokens"]),
        setting(REMOTE, "embedding.remote.batchSize", 8, &["embedding.remote.batchSize"]),
        setting(REMOTE, "embedding.remote.timeoutSeconds", 8, &["embedding.remote.timeoutSeconds"]),
        setting(REMOTE, "embedding.remote.queryPrefix", "q: ", &["embedding.remote.queryPrefix"]),
        setting(REMOTE, "embedding.remote.passagePrefix", "p: ", &["embedding.remote.passagePrefix"]),
        setting(NOTHING, "inferenceService.url", "http://l/v1", &["inferenceService.url"]),
        setting(NOTHING, "inferenceService.model", "m", &["inferenceService.model"]),
        setting(NOTHING, "inferenceService.models", json!(["m", "n"]), &["inferenceService.models"]),
        setting(NOTHING, "inferenceService.accessSecret", "s", &["inferenceService.apiKey"]),
        pod("{inferenceService: {accessSecret: r}}", "inferenceService.accessSecret", "s"),
        setting(NOTHING, "inferenceService.contextWindowSize", 512, &["inferenceService.contextWindowSize"]),
        setting(NOTHING, "inferenceService.tokenizer", "/t", &["inferenceService.tokenizer"]),
        setting(NOTHING, "inferenceService.timeoutSeconds", 8, &["inferenceService.timeoutSeconds"]),
        setting(NOTHING, "inferenceService.maxConcurrentRequests", 8, &["inferenceService.maxConcurrentRequests"]),
        setting(NOTHING, "inferenceService.maxWaitingRequests", 8, &["inferenceService.maxWaitingRequests"]),
        change(NOTHING, "storage.persistentVolume.size", "1Gi", &["claim", "pod", "settings"], &["dataDir"]),
        change(MANAGED_CLAIM, "storage.persistentVolume.size", "2Gi", &["claim"], NO_SETTING),
        change(MANAGED_CLAIM, "storage.persistentVolume.storageClassName", "fast", &["claim"], NO_SETTING),
        pod(EXISTING_CLAIM, "storage.persistentVolume.persistentVolumeClaim", "d"),
        setting(MANAGED_CLAIM, "storage.persistentVolume.mountPath", "/m", &["dataDir"]),
        pod(EXISTING_CLAIM_OLD_FIELD, "storage.persistentVolumeClaim", "d"),
        setting(EXISTING_CLAIM_OLD_FIELD, "storage.mountPath", "/m", &["dataDir"]),
        change(MANAGED_CLAIM, "storage.deletionPolicy", "Delete", &["claim"], NO_SETTING),
        change(EXISTING_CLAIM_OLD_FIELD, "storage.deletionPolicy", "Delete", NO_OBJECT, NO_SETTING),
        change(NOTHING, "storage.vectorDB.engine", "qdrant", NO_OBJECT, NO_SETTING),
        change(NOTHING, "storage.vectorDB.url", "http://q", NO_OBJECT, NO_SETTING),
        change(NOTHING, "storage.vectorDB.accessSecret", "s", NO_OBJECT, NO_SETTING),
        change(NOTHING, "guardrails.enabled", true, NO_OBJECT, NO_SETTING),
        change(NOTHING, "guardrails.configMapRef.name", "c", NO_OBJECT, NO_SETTING),
        setting(NOTHING, "retrieval.maxDistance", 1.1, &["retrieval.maxDistance"]),
        setting(NOTHING, "retrieval.contextTokenRatio", 0.7, &["retrieval.contextTokenRatio"]),
        setting(NOTHING, "retrieval.minTopK", 8, &["retrieval.minTopK"]),
        setting(NOTHING, "retrieval.tokensPerChunk", 8, &["retrieval.tokensPerChunk"]),
        setting(NOTHING, "retrieval.filterRules", json!([{"filter": {"a": 1}}]), &["retrieval.filterRules"]),
        setting(NOTHING, "retrieval.threshold", "calibrated", &["retrieval.threshold"]),
        setting(NOTHING, "retrieval.minSimilarity", 0.75, &["retrieval.minSimilarity"]),
        setting(NOTHING, "retrieval.language", "german", &["retrieval.language"]),
        setting(NOTHING, "retrieval.denseWeight", 0.5, &["retrieval.denseWeight"]),
        setting(NOTHING, "retrieval.textWeight", 0.5, &["retrieval.textWeight"]),
        setting(NOTHING, "retrieval.mmrLambda", 0.5, &["retrieval.mmrLambda"]),
        setting(NOTHING, "retrieval.duplicateSimilarity", 0.5, &["retrieval.duplicateSimilarity"]),
        setting(NOTHING, "rewrite.acronyms", json!({"ABO": "Office"}), &["rewrite.acronyms.ABO"]),
        setting(NOTHING, "endpoints.completions.acronyms", true, &["endpoints.completions.acronyms"]),
        setting(NOTHING, "endpoints.completions.filterRules", true, &["endpoints.completions.filterRules"]),
        setting(NOTHING, "endpoints.completions.retrieval", "hybrid", &["endpoints.completions.retrieval"]),
        setting(NOTHING, "endpoints.completions.recency", true, &["endpoints.completions.recency"]),
        setting(NOTHING, "endpoints.completions.diversity", "mmr", &["endpoints.completions.diversity"]),
        setting(NOTHING, "endpoints.retrieve.retrieval", "dense", &["endpoints.retrieve.retrieval"]),
        setting(NOTHING, "endpoints.retrieve.acronyms", false, &["endpoints.retrieve.acronyms"]),
        setting(NOTHING, "endpoints.retrieve.filterRules", true, &["endpoints.retrieve.filterRules"]),
        change(
            NOTHING,
            "auth.writes",
            "open",
            &["pod", "settings", "writeToken"],
            &["auth.writeToken", "auth.writeTokenSource"],
        ),
        setting(NOTHING, "cors.allowedOrigins", json!(["https://chat.example"]), &["cors.allowedOrigins"]),
        setting(NOTHING, "allowedHosts", json!(["docs.example"]), &["allowedHosts"]),
        change(NOTHING, "networkPolicy.from", json!([]), &["networkPolicy"], NO_SETTING),
        change(
            "{networkPolicy: {}}",
            "networkPolicy.from",
            json!([{"podSelector": {"matchLabels": {"a": "b"}}}]),
            &["networkPolicy"],
            NO_SETTING,
        ),
        change("{networkPolicy: {}}", "networkPolicy.egress.to", json!([]), &["networkPolicy"], NO_SETTING),
        change("{networkPolicy: {}}", "networkPolicy.syncEgress.to", json!([]), &["syncNetworkPolicy"], NO_SETTING),
        pod(NOTHING, "image.repository", "other"),
        // A server of another version gets no setting that it may not know.
        change(NOTHING, "image.tag", "2", &["pod", "service", "settings"], &["adminListen"]),
        pod("{image: {tag: '1'}}", "image.tag", "2"),
        change(NOTHING, "image.digest", DIGEST, &["pod", "service", "settings"], &["adminListen"]),
        pod("{image: {tag: '1'}}", "image.digest", DIGEST),
        pod(NOTHING, "image.pullPolicy", "Always"),
        pod(NOTHING, "resources.requests", json!({"cpu": 1})),
        pod(NOTHING, "resources.limits", json!({"memory": "3Gi"})),
        change(NOTHING, "compute.instanceType", "large", NO_OBJECT, NO_SETTING),
        change(NOTHING, "compute.count", 1, NO_OBJECT, NO_SETTING),
        pod(NOTHING, "compute.labelSelector.matchLabels", json!({"disk": "ssd"})),
        pod(NOTHING, "compute.preferredNodes", json!(["a"])),
        pod(NOTHING, "podTemplate.metadata.labels", json!({"a": "b"})),
        pod(NOTHING, "podTemplate.metadata.annotations", json!({"a": "b"})),
        pod(NOTHING, "podTemplate.spec", json!({"priorityClassName": "high"})),
    ]
}

impl FieldChange {
    fn before(&self) -> RagEngine {
        engine(self.before)
    }

    fn after(&self) -> RagEngine {
        let mut engine = self.before();
        let mut spec = serde_json::to_value(&engine.spec).unwrap();
        let mut place = &mut spec;
        for name in self.field.split('.') {
            if !place.is_object() {
                *place = json!({});
            }
            place = &mut place[name];
        }
        *place = self.value.clone();
        engine.spec = serde_json::from_value(spec).unwrap();
        engine
    }
}

/// The objects to compare, by the names used in the table.
fn objects(engine: &RagEngine) -> Map<String, Value> {
    let desired = built(engine);
    let mut deployment = serde_json::to_value(&desired.deployment).unwrap();
    let pod = deployment["spec"]["template"].take();
    let objects = json!({
        "settings": desired.config_map,
        "account": desired.service_account,
        "service": desired.service,
        "writeToken": desired.write_token.map(|token| token.metadata),
        "claim": desired.claim,
        "networkPolicy": desired.network_policy,
        "syncNetworkPolicy": desired.sync_network_policy,
        "deployment": deployment,
        "pod": pod,
    });
    objects.as_object().unwrap().clone()
}

/// Collects the paths at which two values differ. A subtree that only one of them has counts as one path.
fn differences(path: &str, one: &Value, other: &Value, found: &mut BTreeSet<String>) {
    match (one, other) {
        (Value::Object(fields), Value::Object(others)) => {
            for name in fields.keys().chain(others.keys()) {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                let field = |fields: &Map<String, Value>| fields.get(name).cloned().unwrap_or_default();
                differences(&path, &field(fields), &field(others), found);
            }
        }
        _ if one != other => drop(found.insert(path.to_owned())),
        _ => {}
    }
}

#[test]
fn every_field_changes_exactly_its_objects() {
    for change in changes() {
        let (before, after) = (objects(&change.before()), objects(&change.after()));
        let changed: BTreeSet<&str> =
            before.iter().filter(|(kind, object)| after[*kind] != **object).map(|(kind, _)| kind.as_str()).collect();
        assert_eq!(
            changed,
            BTreeSet::from_iter(change.objects.iter().copied()),
            "{} in {}",
            change.field,
            change.before
        );
    }
}

#[test]
fn every_field_changes_exactly_its_settings() {
    for change in changes() {
        let of = |engine: &RagEngine| serde_json::to_value(valid(engine).settings).unwrap();
        let mut changed = BTreeSet::new();
        differences("", &of(&change.before()), &of(&change.after()), &mut changed);
        let expected: BTreeSet<String> = change.settings.iter().map(|path| (*path).to_owned()).collect();
        assert_eq!(changed, expected, "{} in {}", change.field, change.before);
    }
}

/// A server of another version may have other defaults, so a value in the spec is written even if it equals the default
/// of this version.
#[test]
fn explicit_defaults_are_written_for_another_server_version() {
    let defaults = serde_json::to_string(&ragengine_settings::Settings::default()).unwrap();
    let defaults: Value = serde_json::from_str(&defaults).unwrap();
    let mut written = BTreeSet::new();
    for change in changes() {
        let [setting] = *change.settings else { continue };
        let place = format!("/{}", setting.replace('.', "/"));
        let is_set = |value: &Value| !value.is_null() && *value != json!([]);
        let Some(default) = defaults.pointer(&place).filter(|value| is_set(value) && setting != "dataDir") else {
            continue;
        };
        let mut pinned = FieldChange { value: default.clone(), ..change }.after();
        pinned.spec.image.tag = Some("0.0.9".to_owned());
        let file = built(&pinned).config_map.unwrap().data.unwrap()["settings.yaml"].clone();
        let settings: Value = serde_saphyr::from_str(&file).unwrap();
        assert_eq!(settings.pointer(&place), Some(default), "{setting}: {file}");
        written.insert(setting);
    }
    assert!(written.contains("inferenceService.maxWaitingRequests") && written.len() >= 7, "{written:?}");
}

#[test]
fn every_language_of_the_server_is_in_the_definition() {
    let of_server = ragengine_settings::TextLanguage::ALL.map(|language| language.to_string());
    assert_eq!(of_server.as_slice(), ragengine_operator_api::TEXT_LANGUAGES.as_slice());
    for language in of_server {
        let spec = format!("{{inferenceService: {{url: http://a}}, retrieval: {{language: {language}}}}}");
        assert_eq!(valid(&engine(&spec)).settings.retrieval.language.to_string(), language);
    }
}

#[test]
fn the_kind_of_embedding_reaches_the_settings() {
    let embedding = |spec: &str| {
        let engine = engine(spec);
        valid(&engine).settings.embedding
    };
    assert!(embedding(REMOTE).remote.is_some() && embedding(REMOTE).local.is_none());
    assert_eq!(embedding(NOTHING).local.unwrap().model_id, "/models/sentence-transformers/all-MiniLM-L6-v2");
}

/// Collects the paths of the fields of a schema that have no subfields.
fn leaves(path: &str, schema: &Value, found: &mut BTreeSet<String>) {
    match schema["properties"].as_object() {
        Some(fields) => fields.iter().for_each(|(name, field)| {
            leaves(&if path.is_empty() { name.clone() } else { format!("{path}.{name}") }, field, found);
        }),
        None => drop(found.insert(path.to_owned())),
    }
}

/// A new field needs a row in the table above.
#[test]
fn the_table_lists_every_field() {
    let definition = serde_json::to_value(rag_engine_definition()).unwrap();
    let mut fields = BTreeSet::new();
    leaves("", &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"], &mut fields);
    let in_table: BTreeSet<String> = changes().iter().map(|change| change.field.to_owned()).collect();
    assert_eq!(fields, in_table);
}

#[test]
fn a_changed_new_or_recreated_secret_rolls_the_pod() {
    use ragengine_operator::rag_engine::build::build;

    use crate::fixture::{all_there, defaults, fixture};

    let validated = valid(&fixture("references"));
    let pod = |change: &dyn Fn(&mut Option<String>)| {
        let mut observed = all_there(&validated);
        let optional = observed.references.iter_mut().find(|seen| seen.reference.is_optional).unwrap();
        change(&mut optional.version);
        build(&validated, &observed, &defaults()).unwrap().deployment.unwrap().spec.unwrap().template
    };
    let version = |version: &'static str| pod(&move |seen| *seen = Some(version.to_owned()));
    assert_eq!(version("a/1"), version("a/1"));
    assert_ne!(version("a/1"), version("a/2"), "changed");
    assert_ne!(version("a/1"), version("b/1"), "recreated");
    assert_ne!(version("a/1"), pod(&|seen| *seen = None), "created later");
}

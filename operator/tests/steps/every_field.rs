//! For every field of the spec: which objects it changes, and which settings of the server.

mod table;

use std::collections::BTreeSet;

use ragengine_operator_api::{RagEngine, rag_engine_definition};
use ragengine_settings::VectorEngine;
use serde_json::{Map, Value, json};

use crate::fixture::{built, engine, valid};

use table::{FieldChange, LOCAL_RERANKER, NOTHING, REMOTE, RERANKER, changes};

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
        "auth": desired.auth,
        "service": desired.service,
        "ingress": desired.ingress,
        "httpRoute": desired.http_route,
        "writeToken": desired.write_token.map(|token| token.metadata),
        "claim": desired.claim,
        "nodeClaims": desired.node_claims,
        "networkPolicy": desired.network_policy,
        "syncNetworkPolicy": desired.sync_network_policy,
        "autoscaler": desired.autoscaler,
        "disruptionBudget": desired.disruption_budget,
        "backup": desired.backup,
        "backupTask": desired.backup_task,
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

#[test]
fn every_choice_reaches_the_settings() {
    let choice = |spec: &str, setting: &str| {
        let settings = serde_json::to_value(valid(&engine(spec)).settings).unwrap();
        settings.pointer(setting).unwrap().clone()
    };
    for (spec, setting) in [
        ("{rerank: {backend: llm}}", "/rerank/backend"),
        (RERANKER, "/rerank/backend"),
        (LOCAL_RERANKER, "/rerank/backend"),
        ("{endpoints: {completions: {contextFormat: numbered}}}", "/endpoints/completions/contextFormat"),
        ("{endpoints: {completions: {contextFormat: source}}}", "/endpoints/completions/contextFormat"),
        ("{endpoints: {completions: {condense: never}}}", "/endpoints/completions/condense"),
        ("{endpoints: {completions: {condense: followUp}}}", "/endpoints/completions/condense"),
        ("{endpoints: {completions: {condense: always}}}", "/endpoints/completions/condense"),
        ("{endpoints: {completions: {rerank: never}}}", "/endpoints/completions/rerank"),
        ("{endpoints: {completions: {rerank: conditional}}}", "/endpoints/completions/rerank"),
        ("{endpoints: {completions: {rerank: always}}}", "/endpoints/completions/rerank"),
        ("{feedback: {store: redb}}", "/feedback/store"),
        ("{sessions: {store: memory}}", "/sessions/store"),
        ("{redis: {url: 'redis://cache'}, sessions: {store: redis}}", "/sessions/store"),
        ("{postgres: {url: 'postgres://db'}, sessions: {store: postgres}}", "/sessions/store"),
        ("{sessions: {historyFormat: messages}}", "/sessions/historyFormat"),
        ("{sessions: {historyFormat: section}}", "/sessions/historyFormat"),
        ("{sessions: {whenDown: answer}}", "/sessions/whenDown"),
        ("{sessions: {whenDown: refuse}}", "/sessions/whenDown"),
        ("{endpoints: {query: {condense: never}}}", "/endpoints/query/condense"),
        ("{endpoints: {chat: {condense: always}}}", "/endpoints/chat/condense"),
        ("{endpoints: {chat: {rerank: never}}}", "/endpoints/chat/rerank"),
        ("{endpoints: {chat: {contextFormat: source, citations: false}}}", "/endpoints/chat/contextFormat"),
        (
            "{auth: {modes: [apiKey, sessionToken, jwt], apiKeysSecret: k}, redis: {url: 'redis://cache'}}",
            "/auth/modes",
        ),
        ("{endpoints: {query: {rerank: never}}}", "/endpoints/query/rerank"),
        ("{endpoints: {query: {diversity: none}}}", "/endpoints/query/diversity"),
        ("{interactions: {overlapThreshold: adaptive}}", "/interactions/overlapThreshold"),
    ] {
        let written = serde_json::to_value(&engine(spec).spec).unwrap();
        assert_eq!(choice(spec, setting), *written.pointer(setting).unwrap(), "{spec}");
    }
}

/// The setting is not at the place of its field.
#[test]
fn every_vector_engine_reaches_the_settings() {
    let external = |engine: &str| {
        format!("{{storage: {{vectorDB: {{engine: {engine}, url: 'http://w'}}}}, postgres: {{url: 'postgres://db'}}}}")
    };
    for (spec, expected) in [
        (NOTHING.to_owned(), VectorEngine::Faiss),
        ("{storage: {vectorDB: {}}}".to_owned(), VectorEngine::Faiss),
        ("{storage: {vectorDB: {engine: FAISS}}}".to_owned(), VectorEngine::Faiss),
        (external("weaviate"), VectorEngine::Weaviate),
        (external("qdrant"), VectorEngine::Qdrant),
    ] {
        assert_eq!(valid(&engine(&spec)).settings.vector_db.engine, expected, "{spec}");
    }
}

/// Earlier versions accepted guardrails without acting on them, and their servers do not know the setting.
#[test]
fn a_server_of_another_version_gets_guardrails_only_if_they_are_enabled() {
    for (guardrails, expected) in [
        ("{enabled: false}", json!(null)),
        ("{configMapRef: {name: policy}}", json!(null)),
        (
            "{enabled: true, configMapRef: {name: policy}}",
            json!({"enabled": true, "policyFile": "/etc/ragengine-guardrails/guardrails.yaml"}),
        ),
    ] {
        let built = built(&engine(&format!("{{guardrails: {guardrails}, image: {{tag: 0.0.9}}}}")));
        let file = built.config_map.unwrap().data.unwrap()["settings.yaml"].clone();
        let settings: Value = serde_saphyr::from_str(&file).unwrap();
        assert_eq!(settings["guardrails"], expected, "{guardrails}");
    }
}

/// A server of another version is given the vector engine only if it is not in the server.
#[test]
fn a_server_of_another_version_gets_the_vector_engine_only_if_it_is_external() {
    for (storage, expected) in [
        ("{vectorDB: {engine: Faiss}}", json!(null)),
        (
            "{vectorDB: {engine: weaviate, url: 'http://w', shards: 1}}",
            json!({"engine": "weaviate", "url": "http://w", "shards": 1}),
        ),
        ("{vectorDB: {engine: qdrant, url: 'http://q'}}", json!({"engine": "qdrant", "url": "http://q"})),
    ] {
        let spec = format!("{{storage: {storage}, postgres: {{url: 'postgres://db'}}, image: {{tag: 0.0.9}}}}");
        let file = built(&engine(&spec)).config_map.unwrap().data.unwrap()["settings.yaml"].clone();
        let settings: Value = serde_saphyr::from_str(&file).unwrap();
        assert_eq!(settings["vectorDB"], expected, "{storage}");
    }
}

/// The server replaces the whole map, so it is written with the entries that equal those of the default.
#[test]
fn a_map_is_written_as_a_whole() {
    let written = |spec: &str| {
        let file = built(&engine(spec)).config_map.unwrap().data.unwrap()["settings.yaml"].clone();
        let settings: Value = serde_saphyr::from_str(&file).unwrap();
        settings.pointer("/interactions/maxCharsByModel").cloned()
    };
    let defaults = json!({"gpt-4o": 4000, "claude-3-5-haiku": 2000, "gemini-pro": 3000});
    for (value, tag, expected) in [
        (json!({"gpt-4o": 4000}), "", Some(json!({"gpt-4o": 4000}))),
        (json!({"gpt-4o": 4000, "m": 8}), "0.0.9", Some(json!({"gpt-4o": 4000, "m": 8}))),
        (json!({}), "", Some(json!({}))),
        (json!({}), "0.0.9", Some(json!({}))),
        (defaults.clone(), "", None),
        (defaults.clone(), "0.0.9", Some(defaults.clone())),
    ] {
        let spec = json!({"interactions": {"maxCharsByModel": value}, "image": {"tag": tag}});
        assert_eq!(written(&spec.to_string()), expected, "{spec}");
    }
}

/// Engines that share a database or a Redis server are kept apart. Without one, a server of another version is given no
/// setting that it may not know.
#[test]
fn an_engine_has_a_name_of_its_own_in_a_database() {
    for (spec, expected) in [
        ("{}", "tests.docs"),
        ("{postgres: {url: 'postgres://rag@db/rag'}, image: {tag: 0.0.9}}", "tests.docs"),
        ("{redis: {url: 'redis://cache'}, image: {tag: 0.0.9}}", "tests.docs"),
        ("{redis: {}, image: {tag: 0.0.9}}", "default"),
        ("{image: {tag: 0.0.9}}", "default"),
    ] {
        assert_eq!(valid(&engine(spec)).settings.state_namespace, expected, "{spec}");
    }
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

/// The server reads API keys, its certificate and the policy again.
#[test]
fn what_the_server_reads_again_does_not_roll_the_pod() {
    use ragengine_operator::rag_engine::build::build;
    use ragengine_operator::rag_engine::observe::Observed;

    use crate::fixture::{all_there, defaults, fixture};

    let validated = valid(&fixture("references"));
    let reread = validated.references.iter().filter(|reference| reference.is_reread).map(ToString::to_string);
    assert_eq!(reread.collect::<Vec<_>>(), ["Secret keys", "Secret server-certificate", "ConfigMap policy"]);
    let mut observed = all_there(&validated);
    let pod = |observed: &Observed| {
        build(&validated, observed, &defaults()).unwrap().deployment.unwrap().spec.unwrap().template
    };
    let before = pod(&observed);
    let reread = observed.references.iter_mut().filter(|seen| seen.reference.is_reread);
    reread.for_each(|seen| seen.version = Some("b/9".to_owned()));
    assert_eq!(pod(&observed), before);
    // A Secret that is also used otherwise is read once only.
    let twice = "{auth: {modes: [apiKey], apiKeysSecret: s}, inferenceService: {url: 'http://l', accessSecret: s}}";
    assert!(valid(&engine(twice)).references.iter().all(|reference| !reference.is_reread));
}

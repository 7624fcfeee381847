//! The settings file: the server reads back the settings that the operator wrote.

mod sections;

use proptest::prelude::*;
use ragengine_operator::names::Identity;
use ragengine_operator::rag_engine::monitoring::Monitoring;
use ragengine_operator::rag_engine::settings::{settings, settings_file, settings_file_of_another_version};
use ragengine_operator_api::{
    Auth, Embedding, InferenceService, LocalEmbedding, Pooling, RagEngineSpec, RemoteEmbedding, Retrieval, Storage,
    VectorDatabase, Writes,
};
use ragengine_settings::{Settings, from_yaml};

use sections::{Sections, sections};

use crate::fixture::{defaults, engine, fixtures, valid};

#[test]
fn the_settings_of_every_fixture_survive_a_round_trip() {
    for (name, engine) in fixtures() {
        let settings = valid(&engine).settings;
        let file = settings_file(&settings).unwrap();
        assert_eq!(from_yaml(&file).unwrap(), settings, "{name}:\n{file}");
    }
}

#[test]
fn numbers_are_written_in_their_shortest_form() {
    let engine = engine("{retrieval: {maxDistance: 1.1, contextTokenRatio: 0.6}}");
    let file = settings_file(&valid(&engine).settings).unwrap();
    assert!(file.contains("maxDistance: 1.1\n") && file.contains("contextTokenRatio: 0.6\n"), "{file}");
}

#[test]
fn allowed_hosts_include_the_service_names() {
    let hosts = |spec: &str| valid(&engine(spec)).settings.allowed_hosts;
    assert_eq!(hosts("{}"), [""; 0]);
    let service = ["docs", "docs.tests", "docs.tests.svc", "docs.tests.svc.cluster.local"];
    assert_eq!(hosts("{allowedHosts: [chat.example]}"), [&["chat.example"], &service[..]].concat());
    // A host from outside of the cluster is only needed if hosts are restricted.
    let outside = "allowAnonymous: true, ingress: {host: a.example}, \
                   httpRoute: {parentRefs: [{name: g}], hostnames: [a.example, b.example]}";
    assert_eq!(hosts(&format!("{{{outside}}}")), [""; 0]);
    let restricted = hosts(&format!("{{{outside}, allowedHosts: [chat.example]}}"));
    assert_eq!(restricted, [&["chat.example", "a.example", "b.example"], &service[..]].concat());
}

#[test]
fn a_server_listens_on_the_addresses_of_both_families_if_it_can_do_without_one() {
    let listen = |spec: &str| valid(&engine(spec)).settings.listen.to_string();
    assert_eq!([listen("{}"), listen("{image: {tag: 0.0.9}}")], ["[::]:5000", "0.0.0.0:5000"]);
}

#[test]
fn defaults_are_not_in_the_file() {
    assert_eq!(settings_file(&Settings::default()).unwrap().trim(), "{}");
}

/// Strings with the special characters and words of YAML.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "\\PC{0,24}",
        "[-?:,\\[\\]{}#&*!|>'\"%@` \\\\\t\n]{0,8}",
        prop::sample::select(vec![
            "yes",
            "null",
            "~",
            "1e3",
            "0x10",
            "1.0",
            "true",
            "",
            " ",
            "- a",
            "a: b",
            "2026-11-22"
        ])
        .prop_map(str::to_owned),
    ]
}

fn name() -> impl Strategy<Value = Option<String>> {
    prop::option::of("[a-z][a-z0-9-]{0,8}[a-z0-9]")
}

fn local() -> impl Strategy<Value = LocalEmbedding> {
    let pooling = prop::option::of(prop::sample::select(vec![Pooling::Mean, Pooling::Cls]));
    let max_tokens = prop::option::of(1..1_000_000_u32);
    (
        "[^\\x00]\\PC{0,20}",
        text(),
        text(),
        name(),
        max_tokens,
        pooling,
        (prop::option::of(text()), prop::option::of(text()), any::<bool>(), prop::option::of(text())),
    )
        .prop_map(|(model_id, revision, hub_url, model_access_secret, max_tokens, pooling, texts)| {
            let (query_prefix, passage_prefix, document_names, model_file) = texts;
            LocalEmbedding {
                model_id,
                model_file,
                revision,
                hub_url,
                model_access_secret,
                max_tokens,
                pooling,
                query_prefix,
                passage_prefix,
                document_names,
                ..LocalEmbedding::default()
            }
        })
}

fn remote() -> impl Strategy<Value = RemoteEmbedding> {
    let dimensions = prop::option::of(1..65_536_u32);
    (text(), text(), name(), dimensions, 1..1_000_000_u32, 1..4096_u32, 1..3600_u32, (text(), text(), any::<bool>()))
        .prop_map(
            |(
                url,
                model,
                access_secret,
                dimensions,
                max_tokens,
                batch_size,
                timeout_seconds,
                (query_prefix, passage_prefix, document_names),
            )| {
                RemoteEmbedding {
                    url: format!("https://{url}"),
                    model,
                    access_secret,
                    dimensions,
                    max_tokens,
                    batch_size,
                    timeout_seconds,
                    query_prefix,
                    passage_prefix,
                    document_names,
                }
            },
        )
}

fn embedding() -> impl Strategy<Value = Option<Embedding>> {
    prop::option::of(prop_oneof![
        local().prop_map(|local| Embedding { local: Some(local), remote: None }),
        remote().prop_map(|remote| Embedding { local: None, remote: Some(remote) }),
    ])
}

fn inference_service() -> impl Strategy<Value = Option<InferenceService>> {
    let window = prop::option::of(1..100_000_000_u32);
    let models = prop::collection::vec("\\PC{1,24}", 0..3);
    let requests = (prop::option::of(1..1_000_000_u32), prop::option::of(0..1_000_000_u32));
    let texts = (prop::option::of(text()), prop::option::of(text()), models, name(), prop::option::of(text()));
    prop::option::of((texts, window, 1..86_400_u32, requests).prop_map(
        |((url, model, models, access_secret, tokenizer), context_window_size, timeout_seconds, requests)| {
            let (max_concurrent_requests, max_waiting_requests) = requests;
            InferenceService {
                url: url.map(|url| format!("http://{url}")),
                model,
                models,
                access_secret,
                context_window_size,
                tokenizer: tokenizer.map(|tokenizer| format!("/{tokenizer}")),
                timeout_seconds,
                max_concurrent_requests,
                max_waiting_requests,
            }
        },
    ))
}

/// A number with four decimal places. With seventeen digits, a round trip may change the last one.
fn decimal(ten_thousandths: std::ops::RangeInclusive<u32>) -> impl Strategy<Value = f64> {
    ten_thousandths.prop_map(|number| f64::from(number) / 10_000.0)
}

fn retrieval() -> impl Strategy<Value = Retrieval> {
    let share = || prop::option::of(decimal(1..=10_000));
    let weights = (share(), share(), share(), share());
    (decimal(0..=40_000), decimal(2_000..=8_000), 1..10_000_u32, 1..1_000_000_u32, weights).prop_map(
        |(max_distance, context_token_ratio, min_top_k, tokens_per_chunk, weights)| Retrieval {
            max_distance,
            context_token_ratio,
            min_top_k,
            tokens_per_chunk,
            min_similarity: weights.0,
            dense_weight: weights.1,
            text_weight: weights.2,
            mmr_lambda: weights.3,
            ..Retrieval::default()
        },
    )
}

fn vector_database() -> impl Strategy<Value = VectorDatabase> {
    let engine = prop::sample::select(vec!["weaviate", "qdrant"]);
    let url = "https?://[a-z0-9.-]{1,12}(:[0-9]{2,4})?(/[a-z]{1,8})?";
    (engine, url, name(), prop::option::of(1..=7_u32), prop::option::of(1..=64_u32)).prop_map(
        |(engine, url, access_secret, replication_factor, shards)| VectorDatabase {
            engine: Some(engine.to_owned()),
            url: Some(url),
            access_secret,
            replication_factor,
            shards,
        },
    )
}

fn spec() -> impl Strategy<Value = RagEngineSpec> {
    let writes = prop::sample::select(vec![Writes::Token, Writes::Open]);
    let claim = prop::option::of(("[a-z]{1,8}", "(/[A-Za-z0-9_-]{1,8}){1,3}"));
    let storage = (claim, prop::option::of(vector_database()));
    (embedding(), inference_service(), retrieval(), writes, storage, sections()).prop_map(
        |(embedding, inference_service, retrieval, writes, (claim, vector_database), sections)| {
            let Sections {
                rewrite,
                rerank,
                postgres,
                redis,
                default_index,
                sessions,
                feedback,
                interactions,
                endpoints,
                cache,
                citations,
                events,
                tracing,
                tls,
            } = sections;
            let (claim, mount_path) = claim.unzip();
            let storage = Storage {
                persistent_volume_claim: claim,
                mount_path,
                // The list of indexes is in PostgreSQL.
                vector_database: vector_database.filter(|_| postgres.is_some()),
                ..Storage::default()
            };
            RagEngineSpec {
                embedding,
                // A list of models would have to contain those of the other sections.
                inference_service: inference_service.map(|mut service| {
                    let uses_models = rewrite.as_ref().is_some_and(|rewrite| rewrite.model.is_some())
                        || rerank.as_ref().is_some_and(|rerank| rerank.model.is_some());
                    service.models.retain(|_| !uses_models);
                    service
                }),
                retrieval,
                rewrite,
                rerank,
                postgres,
                redis,
                default_index,
                sessions,
                feedback,
                interactions,
                endpoints,
                cache,
                citations,
                events,
                tracing,
                tls,
                auth: Auth { writes, ..Auth::default() },
                storage: Some(storage),
                ..RagEngineSpec::default()
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn settings_survive_a_round_trip(spec in spec()) {
        let identity = Identity { namespace: "tests".into(), name: "docs".into(), uid: "u".into() };
        let settings = settings(&spec, &identity, &defaults(), Monitoring::OwnListener);
        let file = settings_file(&settings).unwrap();
        let read = from_yaml(&file).map_err(|error| TestCaseError::fail(format!("{error}\n{file}")))?;
        prop_assert_eq!(&read, &settings, "{}", file);
        let file = settings_file_of_another_version(&settings, &spec).unwrap();
        let read = from_yaml(&file).map_err(|error| TestCaseError::fail(format!("{error}\n{file}")))?;
        prop_assert_eq!(read, settings, "{}", file);
    }
}

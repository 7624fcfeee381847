//! Derives the server's settings from a specification.

mod access;
mod answers;
mod auth;
mod bootstrap;
mod endpoints;
mod file;
mod side_models;
mod stores;
mod transport;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

pub use access::{API_KEYS, Access, accesses, api_keys_folder};
pub use answers::{GUARDRAILS, GUARDRAILS_FOLDER};
pub use auth::{ACCESS_FILE, AUTH_FOLDER, KEYS_FILE, has_modes, with_cluster_issuer};
pub use bootstrap::{
    RESTORE, RESTORE_FOLDER, RESTORE_KEYS, bucket_place, restore_keys_folder, restore_of, volume_place,
};
pub use file::{settings_file, settings_file_of_another_version};
use ragengine_operator_api::{
    Embedding, FilterRule, HttpRoute, InferenceService, Ingress, Limits, LocalEmbedding, Pooling, RagEngineSpec,
    RemoteEmbedding, Retrieval, Volume,
};
use ragengine_settings::{self as settings, Settings};
use serde::Serialize;
use serde::de::DeserializeOwned;
pub use transport::{TLS, tls_folder};

use super::monitoring::Monitoring;
use crate::defaults::Defaults;
use crate::names::Identity;
use crate::ports::{ADMIN_PORT, PORT};

/// The folder of the settings file.
pub const SETTINGS_FOLDER: &str = "/etc/ragengine";
/// The key of the settings file in its ConfigMap, and its name in [`SETTINGS_FOLDER`].
pub const SETTINGS_FILE: &str = "settings.yaml";
/// The data folder when the engine has no persistent volume.
pub const EPHEMERAL_FOLDER: &str = "/data";

/// The id of the model in the image, and its path there.
const MODEL_IN_IMAGE: (&str, &str) =
    ("sentence-transformers/all-MiniLM-L6-v2", "/models/sentence-transformers/all-MiniLM-L6-v2");

/// The data folder of the server.
pub fn data_folder(spec: &RagEngineSpec) -> &str {
    match spec.storage.as_ref().map_or(Volume::Ephemeral, |storage| storage.volume()) {
        Volume::Ephemeral => EPHEMERAL_FOLDER,
        Volume::Existing { mount_path, .. } | Volume::Provisioned { mount_path, .. } => mount_path,
    }
}

/// The settings of a specification.
pub fn settings(spec: &RagEngineSpec, identity: &Identity, defaults: &Defaults, monitoring: Monitoring) -> Settings {
    // All fields are listed, so that the compiler points here when one is added. The ignored fields concern the pod,
    // not the server.
    let RagEngineSpec {
        replicas: _,
        autoscaling: _,
        embedding: _,
        inference_service,
        guardrails,
        storage,
        backup: _,
        bootstrap,
        retrieval,
        rewrite,
        rerank,
        postgres,
        redis,
        default_index,
        sessions,
        feedback,
        interactions,
        cache,
        citations,
        events,
        endpoints,
        auth,
        allow_anonymous: _,
        audit,
        tracing,
        limits,
        tls,
        ingress,
        http_route,
        cors,
        allowed_hosts,
        network_policy: _,
        image: _,
        resources: _,
        compute: _,
        pod_template: _,
    } = spec;
    Settings {
        listen: SocketAddr::new(all_addresses(monitoring), PORT),
        admin_listen: match monitoring {
            Monitoring::OwnListener => Some(SocketAddr::new(all_addresses(monitoring), ADMIN_PORT)),
            Monitoring::SameListener => None,
        },
        tls: transport::tls(tls.as_ref()),
        data_dir: data_folder(spec).into(),
        bootstrap: bootstrap::bootstrap(bootstrap.as_ref(), identity),
        embedding: embedding(&spec.embedding()),
        inference_service: inference_service.as_ref().map(language_model).unwrap_or_default(),
        retrieval: retrieval_settings(retrieval),
        rewrite: side_models::rewrite(rewrite.as_ref()),
        rerank: side_models::rerank(rerank.as_ref()),
        state_namespace: stores::state_namespace(spec, identity, monitoring),
        postgres: stores::postgres(postgres.as_ref()),
        redis: stores::redis(redis.as_ref()),
        vector_db: stores::vector_database(storage.as_ref()),
        default_index: default_index.clone(),
        sessions: stores::sessions(sessions.as_ref()),
        feedback: stores::feedback(feedback.as_ref()),
        interactions: stores::interactions(interactions.as_ref()),
        cache: answers::cache(*cache),
        citations: answers::citations(citations.as_ref()),
        events: stores::events(events.as_ref()),
        guardrails: answers::guardrails(guardrails.as_ref()),
        endpoints: endpoints::endpoints(endpoints.as_ref()),
        auth: auth::auth(auth, identity, defaults),
        audit: settings::Audit { enabled: audit.and_then(|audit| audit.enabled).unwrap_or_default() },
        tracing: transport::tracing(tracing.as_ref()),
        limits: limit_settings(*limits),
        allowed_hosts: host_names(allowed_hosts, ingress.as_ref(), http_route.as_ref(), identity, defaults),
        cors: settings::Cors {
            allowed_origins: cors.as_ref().map(|cors| cors.allowed_origins.clone()).unwrap_or_default(),
        },
        ..Settings::default()
    }
}

/// What is wrong with a specification that the settings made from it do not show.
pub fn wrong_fields(spec: &RagEngineSpec) -> Vec<String> {
    let threshold = stores::wrong_threshold(spec.interactions.as_ref());
    threshold
        .into_iter()
        .chain(answers::missing_policy(spec.guardrails.as_ref()))
        .chain(auth::wrong_rules(&spec.auth))
        .chain(stores::unknown_engine(spec.storage.as_ref()))
        .collect()
}

/// The addresses of both families, or of the only one that a node has. A server of another version may not start on
/// them where there is no IPv6.
fn all_addresses(monitoring: Monitoring) -> IpAddr {
    match monitoring {
        Monitoring::OwnListener => Ipv6Addr::UNSPECIFIED.into(),
        Monitoring::SameListener => Ipv4Addr::UNSPECIFIED.into(),
    }
}

fn embedding(embedding: &Embedding) -> settings::Embedding {
    let Embedding { local, remote } = embedding;
    settings::Embedding { local: local.as_ref().map(local_embedding), remote: remote.as_ref().map(remote_embedding) }
}

fn local_embedding(local: &LocalEmbedding) -> settings::LocalEmbedding {
    let LocalEmbedding {
        model_id,
        model_file,
        revision,
        hub_url,
        model_access_secret,
        image: _,
        image_pull_secret: _,
        max_tokens,
        pooling,
        query_prefix,
        passage_prefix,
        document_names,
    } = local.clone();
    let defaults = settings::LocalEmbedding::default();
    let is_in_image = model_id == MODEL_IN_IMAGE.0 && revision == defaults.revision && model_file.is_none();
    settings::LocalEmbedding {
        model_id: if is_in_image { MODEL_IN_IMAGE.1.to_owned() } else { model_id },
        model_file,
        revision,
        hub_url,
        hub_token: model_access_secret.map(|_| Access::Hub.file()),
        max_tokens,
        pooling: pooling.map(|pooling| match pooling {
            Pooling::Mean => settings::Pooling::Mean,
            Pooling::Cls => settings::Pooling::Cls,
        }),
        query_prefix,
        passage_prefix,
        document_names,
        ..defaults
    }
}

fn remote_embedding(remote: &RemoteEmbedding) -> settings::RemoteEmbedding {
    let RemoteEmbedding {
        url,
        model,
        access_secret,
        dimensions,
        max_tokens,
        batch_size,
        timeout_seconds,
        query_prefix,
        passage_prefix,
        document_names,
    } = remote.clone();
    settings::RemoteEmbedding {
        url,
        model,
        api_key: access_secret.map(|_| Access::Embedding.file()),
        dimensions,
        max_tokens,
        batch_size,
        timeout_seconds: u64::from(timeout_seconds),
        query_prefix,
        passage_prefix,
        document_names,
    }
}

fn language_model(service: &InferenceService) -> settings::InferenceService {
    let InferenceService {
        url,
        model,
        models,
        access_secret,
        context_window_size,
        tokenizer,
        timeout_seconds,
        max_concurrent_requests,
        max_waiting_requests,
    } = service.clone();
    let defaults = settings::InferenceService::default();
    settings::InferenceService {
        url,
        model,
        models,
        api_key: access_secret.map(|_| Access::LanguageModel.file()),
        context_window_size,
        tokenizer: tokenizer.map(PathBuf::from),
        timeout_seconds: u64::from(timeout_seconds),
        max_concurrent_requests: max_concurrent_requests.unwrap_or(defaults.max_concurrent_requests),
        max_waiting_requests: max_waiting_requests.unwrap_or(defaults.max_waiting_requests),
        ..defaults
    }
}

fn retrieval_settings(retrieval: &Retrieval) -> settings::Retrieval {
    let retrieval = retrieval.clone();
    let rule = |FilterRule { words, filter }| settings::FilterRule { words, filter };
    let defaults = settings::Retrieval::default();
    settings::Retrieval {
        max_distance: score(Some(retrieval.max_distance), defaults.max_distance),
        context_token_ratio: retrieval.context_token_ratio,
        min_top_k: retrieval.min_top_k,
        tokens_per_chunk: retrieval.tokens_per_chunk,
        filter_rules: retrieval.filter_rules.into_iter().map(rule).collect(),
        threshold: named(retrieval.threshold, defaults.threshold),
        min_similarity: retrieval.min_similarity.map(|similarity| score(Some(similarity), 0.0)),
        language: named(retrieval.language, defaults.language),
        dense_weight: score(retrieval.dense_weight, defaults.dense_weight),
        text_weight: score(retrieval.text_weight, defaults.text_weight),
        mmr_lambda: score(retrieval.mmr_lambda, defaults.mmr_lambda),
        duplicate_similarity: score(retrieval.duplicate_similarity, defaults.duplicate_similarity),
        ..defaults
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a score is compared with 32-bit ones")]
fn score(value: Option<f64>, default: f32) -> f32 {
    value.map_or(default, |value| value as f32)
}

/// The setting of the same name as a value of the specification. A test compares the names.
fn named<T: DeserializeOwned>(value: Option<impl Serialize>, default: T) -> T {
    let name = value.and_then(|value| serde_json::to_value(value).ok());
    name.and_then(|name| serde_json::from_value(name).ok()).unwrap_or(default)
}

fn limit_settings(limits: Option<Limits>) -> settings::Limits {
    let Limits { chats_per_minute_per_caller } = limits.unwrap_or_default();
    let defaults = settings::Limits::default();
    settings::Limits {
        chats_per_minute_per_caller: chats_per_minute_per_caller.unwrap_or(defaults.chats_per_minute_per_caller),
        ..defaults
    }
}

/// If host names are restricted, the names of the Service are added, because the Jobs of the Indexes and other pods use
/// them, and those of an Ingress or HTTPRoute.
fn host_names(
    allowed: &[String],
    ingress: Option<&Ingress>,
    http_route: Option<&HttpRoute>,
    identity: &Identity,
    defaults: &Defaults,
) -> Vec<String> {
    if allowed.is_empty() {
        return Vec::new();
    }
    let Identity { name, namespace, .. } = identity;
    let service =
        [String::new(), format!(".{namespace}"), format!(".{namespace}.svc")].map(|rest| format!("{name}{rest}"));
    let whole = format!("{name}.{namespace}.svc.{}", defaults.cluster_domain);
    let from_outside = ingress.map(|ingress| ingress.host.clone()).into_iter();
    let from_outside = from_outside.chain(http_route.iter().flat_map(|route| route.hostnames.clone()));
    let mut names: Vec<String> = allowed.to_vec();
    for name in from_outside.chain(service).chain([whole]) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

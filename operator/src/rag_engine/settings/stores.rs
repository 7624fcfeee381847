//! The stores, and the servers that they use.

use ragengine_operator_api::{
    Events, Feedback, Interactions, Postgres, RagEngineSpec, Redis, Sessions, Storage, VectorDatabase,
};
use ragengine_settings as settings;

use super::super::monitoring::Monitoring;
use super::{Access, named, score};
use crate::names::Identity;

/// The name that keeps engines apart in a database or a Redis server. Without one, a server of another version is not
/// given it, because it may not know the setting.
pub(super) fn state_namespace(spec: &RagEngineSpec, identity: &Identity, monitoring: Monitoring) -> String {
    let has_database = spec.postgres.as_ref().is_some_and(|postgres| postgres.url.is_some());
    let has_redis = spec.redis.as_ref().is_some_and(|redis| redis.url.is_some());
    match monitoring {
        Monitoring::SameListener if !has_database && !has_redis => settings::Settings::default().state_namespace,
        Monitoring::SameListener | Monitoring::OwnListener => format!("{}.{}", identity.namespace, identity.name),
    }
}

pub(super) fn postgres(postgres: Option<&Postgres>) -> settings::Postgres {
    let Postgres { url, access_secret } = postgres.cloned().unwrap_or_default();
    settings::Postgres { url, password: access_secret.map(|_| Access::Postgres.file()) }
}

pub(super) fn redis(redis: Option<&Redis>) -> settings::Redis {
    let Redis { url, access_secret } = redis.cloned().unwrap_or_default();
    settings::Redis { url, password: access_secret.map(|_| Access::Redis.file()) }
}

/// The vector engine. One in the server has no settings, so that a server of another version is given none.
pub(super) fn vector_database(storage: Option<&Storage>) -> settings::VectorDatabase {
    let defaults = settings::VectorDatabase::default();
    let Some(database) = storage.and_then(Storage::external_database) else { return defaults };
    let VectorDatabase { engine, url, access_secret, replication_factor, shards } = database.clone();
    settings::VectorDatabase {
        engine: named(engine, defaults.engine),
        url,
        api_key: access_secret.map(|_| Access::VectorDatabase.file()),
        replication_factor: replication_factor.unwrap_or(defaults.replication_factor),
        shards: shards.unwrap_or(defaults.shards),
    }
}

/// What is wrong with an engine that is not known. A definition of an earlier version let it pass.
pub(super) fn unknown_engine(storage: Option<&Storage>) -> Option<String> {
    let engine = storage?.vector_database.as_ref()?.unknown_engine()?;
    Some(format!("storage.vectorDB.engine: must be faiss, weaviate or qdrant, not {engine:?}"))
}

pub(super) fn events(events: Option<&Events>) -> settings::Events {
    let Events { url, access_secret, exchange } = events.cloned().unwrap_or_default();
    let defaults = settings::Events::default();
    settings::Events {
        url,
        password: access_secret.map(|_| Access::RabbitMq.file()),
        exchange: exchange.unwrap_or(defaults.exchange),
    }
}

pub(super) fn sessions(sessions: Option<&Sessions>) -> settings::Sessions {
    let Sessions { store, expiry_seconds, history_ratio, history_format, when_down } =
        sessions.copied().unwrap_or_default();
    let defaults = settings::Sessions::default();
    settings::Sessions {
        store: named(store, defaults.store),
        expiry_seconds: expiry_seconds.map_or(defaults.expiry_seconds, u64::from),
        history_ratio: history_ratio.unwrap_or(defaults.history_ratio),
        history_format: named(history_format, defaults.history_format),
        when_down: named(when_down, defaults.when_down),
    }
}

pub(super) fn feedback(feedback: Option<&Feedback>) -> settings::Feedback {
    let Feedback { enabled, store } = feedback.copied().unwrap_or_default();
    let defaults = settings::Feedback::default();
    settings::Feedback { enabled: enabled.unwrap_or(defaults.enabled), store: named(store, defaults.store) }
}

pub(super) fn interactions(interactions: Option<&Interactions>) -> settings::Interactions {
    let Interactions {
        enabled,
        store,
        anonymous,
        provider_name,
        max_chars,
        max_chars_by_model,
        include_metadata,
        max_entries,
        keep,
        top_k,
        min_similarity,
        overlap_threshold,
    } = interactions.cloned().unwrap_or_default();
    let defaults = settings::Interactions::default();
    settings::Interactions {
        enabled: enabled.unwrap_or(defaults.enabled),
        store: named(store, defaults.store),
        anonymous: anonymous.unwrap_or(defaults.anonymous),
        provider_name: provider_name.unwrap_or(defaults.provider_name),
        max_chars: max_chars.unwrap_or(defaults.max_chars),
        max_chars_by_model: max_chars_by_model.unwrap_or(defaults.max_chars_by_model),
        include_metadata: include_metadata.unwrap_or(defaults.include_metadata),
        max_entries: max_entries.unwrap_or(defaults.max_entries),
        keep: keep.unwrap_or(defaults.keep),
        top_k: top_k.unwrap_or(defaults.top_k),
        min_similarity: score(min_similarity, defaults.min_similarity),
        overlap_threshold: named(overlap_threshold, defaults.overlap_threshold),
    }
}

/// What is wrong with a threshold that is neither a number nor a word that the server knows. The schema cannot refuse
/// all of them.
pub(super) fn wrong_threshold(interactions: Option<&Interactions>) -> Option<String> {
    let threshold = interactions?.overlap_threshold.as_ref()?;
    let read: Result<settings::OverlapThreshold, _> = serde_json::from_value(threshold.clone());
    read.is_err()
        .then(|| "interactions.overlapThreshold: must be a number from 0 to 1, such as 0.1, or adaptive".to_owned())
}

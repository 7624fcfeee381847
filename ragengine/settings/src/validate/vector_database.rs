//! The settings of the vector engine, and what the others must be beside one that is not in the server.

use super::stores::has_no_password;
use super::{Invalid, is_http};
use crate::{Settings, VectorDatabase, VectorEngine, VectorIndexKind};

/// Whether the settings are as they must be, the setting that is wrong otherwise, and the rest of the message.
type Check = (bool, &'static str, String);

/// What is wrong with `vectorDB`, and with the settings that depend on it.
pub(super) fn check(settings: &Settings) -> impl Iterator<Item = Invalid> {
    let database = &settings.vector_db;
    let of_the_engine = match database.engine {
        VectorEngine::Faiss => in_the_server(database),
        VectorEngine::Weaviate => external(settings, "weaviate", "Weaviate", "http://weaviate:8080"),
        VectorEngine::Qdrant => external(settings, "qdrant", "Qdrant", "http://qdrant:6334"),
    };
    let of_every_engine = [
        (
            database.url.as_deref().is_none_or(|url| is_http(url) && has_no_password(url) && !url.contains(['?', '#'])),
            "vectorDB.url",
            "must begin with http:// or https://, without a password, a query or a fragment".to_owned(),
        ),
        (
            (1..=7).contains(&database.replication_factor),
            "vectorDB.replicationFactor",
            "must be between 1 and 7".to_owned(),
        ),
        ((1..=64).contains(&database.shards), "vectorDB.shards", "must be between 1 and 64".to_owned()),
    ];
    let wrong = of_the_engine.into_iter().chain(of_every_engine).filter(|(holds, ..)| !holds);
    wrong.map(|(_, setting, message)| Invalid { setting: setting.to_owned(), message })
}

fn in_the_server(database: &VectorDatabase) -> Vec<Check> {
    let is_not_used = |what: &str| {
        format!(
            "is not used with vectorDB.engine: faiss: write engine: weaviate or engine: qdrant, or remove the {what}"
        )
    };
    vec![
        (database.url.is_none(), "vectorDB.url", is_not_used("url")),
        (database.api_key.is_none(), "vectorDB.apiKey", is_not_used("key")),
    ]
}

/// `engine` is the setting, `name` the name of its database, and `url` the usual address.
fn external(settings: &Settings, engine: &str, name: &str, url: &str) -> Vec<Check> {
    let is_known_kind =
        matches!(settings.vector_index, VectorIndexKind::Auto | VectorIndexKind::Flat | VectorIndexKind::Hnsw { .. });
    vec![
        (
            settings.vector_db.url.is_some(),
            "vectorDB.url",
            format!("is needed with vectorDB.engine: {engine}: write its address there, such as {url}"),
        ),
        (
            settings.postgres.url.is_some(),
            "vectorDB.engine",
            format!(
                "{engine} needs postgres.url, for the list of indexes: write the database's address there, or engine: \
                 faiss"
            ),
        ),
        (
            is_known_kind,
            "vectorIndex",
            format!(
                "must be auto, Flat or HNSW<M> with vectorDB.engine: {engine}: write one of these, or engine: faiss"
            ),
        ),
        (
            settings.bootstrap.restore.is_none(),
            "bootstrap.restore",
            format!(
                "is not possible with vectorDB.engine: {engine}: remove it, and restore a backup of {name} and \
                 PostgreSQL"
            ),
        ),
    ]
}

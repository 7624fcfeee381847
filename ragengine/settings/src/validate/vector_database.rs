//! The settings of the vector engine, and what the others must be beside one that is not in the server.

use super::stores::has_no_password;
use super::{Invalid, is_http};
use crate::{Settings, VectorIndexKind};

/// What is wrong with `vectorDB`, and with the settings that depend on it.
pub(super) fn check(settings: &Settings) -> impl Iterator<Item = Invalid> {
    let database = &settings.vector_db;
    let url = database.url.as_deref();
    let is_external = database.is_external();
    let has_postgres = settings.postgres.url.is_some();
    let is_known_kind =
        matches!(settings.vector_index, VectorIndexKind::Auto | VectorIndexKind::Flat | VectorIndexKind::Hnsw { .. });
    let checks = [
        (
            !is_external || url.is_some(),
            "vectorDB.url",
            "is needed with vectorDB.engine: weaviate: write its address there, such as http://weaviate:8080",
        ),
        (
            is_external || url.is_none(),
            "vectorDB.url",
            "is not used with vectorDB.engine: faiss: write engine: weaviate, or remove the url",
        ),
        (
            url.is_none_or(|url| is_http(url) && has_no_password(url) && !url.contains(['?', '#'])),
            "vectorDB.url",
            "must begin with http:// or https://, without a password, a query or a fragment",
        ),
        (
            database.api_key.is_none() || is_external,
            "vectorDB.apiKey",
            "is not used with vectorDB.engine: faiss: write engine: weaviate, or remove the key",
        ),
        ((1..=7).contains(&database.replication_factor), "vectorDB.replicationFactor", "must be between 1 and 7"),
        ((1..=64).contains(&database.shards), "vectorDB.shards", "must be between 1 and 64"),
        (
            !is_external || has_postgres,
            "vectorDB.engine",
            "weaviate needs postgres.url, for the list of indexes: write the database's address there, or engine: faiss",
        ),
        (
            !is_external || is_known_kind,
            "vectorIndex",
            "must be auto, Flat or HNSW<M> with vectorDB.engine: weaviate: write one of these, or engine: faiss",
        ),
        (
            !is_external || settings.bootstrap.restore.is_none(),
            "bootstrap.restore",
            "is not possible with vectorDB.engine: weaviate: remove it, and restore a backup of Weaviate and PostgreSQL",
        ),
    ];
    let wrong = checks.into_iter().filter(|(holds, ..)| !holds);
    wrong.map(|(_, setting, message)| Invalid { setting: setting.to_owned(), message: message.to_owned() })
}

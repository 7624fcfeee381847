//! The vector engine, and the settings that depend on it.

use crate::{VectorEngine, from_yaml};

/// The engines that are not in the server: the setting, the name and the usual address of each.
const EXTERNAL: [(&str, &str, &str, VectorEngine); 2] = [
    ("weaviate", "Weaviate", "http://weaviate:8080", VectorEngine::Weaviate),
    ("qdrant", "Qdrant", "http://qdrant:6334", VectorEngine::Qdrant),
];

fn messages(yaml: &str) -> Vec<String> {
    from_yaml(yaml).unwrap_err().to_string().lines().map(str::to_owned).collect()
}

#[test]
fn an_external_engine_with_its_address_and_a_database_is_accepted() {
    for (engine, _, url, expected) in EXTERNAL {
        for more in ["vectorIndex: auto", "vectorIndex: Flat", "vectorIndex: HNSW32"] {
            let database =
                format!("{{engine: {engine}, url: '{url}', apiKey: {{env: K}}, replicationFactor: 3, shards: 2}}");
            let yaml = format!("{{vectorDB: {database}, postgres: {{url: 'postgres://r@db/r'}}, {more}}}");
            let settings = from_yaml(&yaml).unwrap_or_else(|error| panic!("{yaml}: {error}"));
            assert_eq!(settings.vector_db.engine, expected);
            assert!(settings.vector_db.is_external());
        }
    }
}

#[test]
fn a_message_names_the_engine_that_was_chosen() {
    for (engine, name, url, _) in EXTERNAL {
        let without_url = format!("{{vectorDB: {{engine: {engine}}}, postgres: {{url: 'postgres://r@db/r'}}}}");
        let is_needed = "is needed with vectorDB.engine";
        assert_only(
            &messages(&without_url),
            &format!("vectorDB.url: {is_needed}: {engine}: write its address there, such as {url}"),
        );
        assert_only(
            &messages(&format!("vectorDB: {{engine: {engine}, url: '{url}'}}")),
            &format!(
                "vectorDB.engine: {engine} needs postgres.url, for the list of indexes: write the database's address \
                 there, or engine: faiss"
            ),
        );
        let with = |more: &str| {
            let database = format!("vectorDB: {{engine: {engine}, url: '{url}'}}");
            messages(&format!("{{{database}, postgres: {{url: 'postgres://r@db/r'}}, {more}}}"))
        };
        for kind in ["SQ8", "HNSW32_SQ8", "'IVF1024,Flat'"] {
            assert_only(
                &with(&format!("vectorIndex: {kind}")),
                &format!(
                    "vectorIndex: must be auto, Flat or HNSW<M> with vectorDB.engine: {engine}: write one of these, or \
                     engine: faiss"
                ),
            );
        }
        assert_only(
            &with("bootstrap: {restore: {place: {folder: /b}}}"),
            &format!(
                "bootstrap.restore: is not possible with vectorDB.engine: {engine}: remove it, and restore a backup of \
                 {name} and PostgreSQL"
            ),
        );
    }
}

#[test]
fn an_address_is_an_http_url_without_secrets_whichever_the_engine() {
    for (engine, ..) in EXTERNAL {
        for url in ["db:6334", "grpc://db:6334", "http://me:secret@db", "http://db?api-key=secret", "http://db#a"] {
            let yaml =
                format!("{{vectorDB: {{engine: {engine}, url: '{url}'}}, postgres: {{url: 'postgres://r@db/r'}}}}");
            assert_only(
                &messages(&yaml),
                "vectorDB.url: must begin with http:// or https://, without a password, a query or a fragment",
            );
        }
    }
}

#[test]
fn faiss_has_no_address_and_no_key() {
    let words = "is not used with vectorDB.engine: faiss: write engine: weaviate or engine: qdrant, or remove the";
    for engine in ["", "engine: faiss, "] {
        let url = format!("vectorDB: {{{engine}url: 'http://qdrant:6334'}}");
        assert_only(&messages(&url), &format!("vectorDB.url: {words} url"));
        let key = format!("vectorDB: {{{engine}apiKey: {{env: K}}}}");
        assert_only(&messages(&key), &format!("vectorDB.apiKey: {words} key"));
    }
    from_yaml("vectorDB: {engine: faiss}").unwrap();
}

#[test]
fn an_unknown_engine_is_refused_with_the_names_of_the_known_ones() {
    for engine in ["milvus", "Qdrant"] {
        let message = from_yaml(&format!("vectorDB: {{engine: {engine}}}")).unwrap_err().to_string();
        assert!(["faiss", "weaviate", "qdrant"].iter().all(|known| message.contains(known)), "{message}");
    }
}

#[track_caller]
fn assert_only(messages: &[String], message: &str) {
    assert!(matches!(messages, [only] if only == message), "expected {message}, got {messages:?}");
}

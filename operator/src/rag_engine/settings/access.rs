//! The Secrets that are mounted into a server as files.

use std::path::{Path, PathBuf};

use ragengine_operator_api::{
    EMBEDDING_ACCESS_SECRET, HF_TOKEN, LLM_ACCESS_SECRET, POSTGRES_ACCESS_SECRET, RABBITMQ_ACCESS_SECRET,
    REDIS_ACCESS_SECRET, RERANK_ACCESS_SECRET, RagEngineSpec, Storage, VECTOR_DB_ACCESS_SECRET, WRITE_TOKEN, Writes,
};
use ragengine_settings::SecretReference;

use crate::names::Identity;

/// The folder of all Secrets.
const SECRETS_FOLDER: &str = "/run/secrets/ragengine";

/// The name of the volume with the API keys.
pub const API_KEYS: &str = "api-keys";

/// The folder with a file for each API key.
pub fn api_keys_folder() -> PathBuf {
    secret_folder(API_KEYS)
}

/// The folder of the Secret that is mounted as this volume.
pub(super) fn secret_folder(volume: &str) -> PathBuf {
    Path::new(SECRETS_FOLDER).join(volume)
}

/// A Secret that is mounted into the server as a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// The API key of the language model.
    LanguageModel,
    /// The API key of the embedding endpoint.
    Embedding,
    /// The token of the model hub of the embedding model.
    Hub,
    /// The API key of the reranker.
    Reranker,
    /// The token of the model hub of the reranker.
    RerankerHub,
    /// The password of the PostgreSQL user.
    Postgres,
    /// The password of the Redis server.
    Redis,
    /// The API key of Weaviate or Qdrant.
    VectorDatabase,
    /// The password of the RabbitMQ user.
    RabbitMq,
    /// The write token.
    Write,
}

impl Access {
    /// The name of its volume.
    pub fn volume(self) -> &'static str {
        match self {
            Self::LanguageModel => "language-model-key",
            Self::Embedding => "embedding-key",
            Self::Hub => "hub-token",
            Self::Reranker => "reranker-key",
            Self::RerankerHub => "reranker-hub-token",
            Self::Postgres => "postgres-password",
            Self::Redis => "redis-password",
            Self::VectorDatabase => "vector-db-key",
            Self::RabbitMq => "rabbitmq-password",
            Self::Write => "write-token",
        }
    }

    /// The key of the Secret that is mounted.
    pub fn key(self) -> &'static str {
        match self {
            Self::LanguageModel => LLM_ACCESS_SECRET,
            Self::Embedding => EMBEDDING_ACCESS_SECRET,
            Self::Hub | Self::RerankerHub => HF_TOKEN,
            Self::Reranker => RERANK_ACCESS_SECRET,
            Self::Postgres => POSTGRES_ACCESS_SECRET,
            Self::Redis => REDIS_ACCESS_SECRET,
            Self::VectorDatabase => VECTOR_DB_ACCESS_SECRET,
            Self::RabbitMq => RABBITMQ_ACCESS_SECRET,
            Self::Write => WRITE_TOKEN,
        }
    }

    /// The folder of the mount.
    pub fn folder(self) -> PathBuf {
        secret_folder(self.volume())
    }

    /// The reference in the settings file.
    pub(super) fn file(self) -> SecretReference {
        SecretReference::File(self.folder().join(self.key()))
    }
}

/// The Secrets of a specification in the order of their volumes, including the write token.
pub fn accesses(spec: &RagEngineSpec, identity: &Identity) -> Vec<(Access, String)> {
    let embedding = spec.embedding();
    let hub = embedding.local.and_then(|local| local.model_access_secret);
    let remote = embedding.remote.and_then(|remote| remote.access_secret);
    let language_model = spec.inference_service.as_ref().and_then(|service| service.access_secret.clone());
    let reranker = spec.rerank.clone().unwrap_or_default();
    let reranker_hub = reranker.local.and_then(|local| local.model_access_secret);
    let postgres = spec.postgres.as_ref().and_then(|postgres| postgres.access_secret.clone());
    let redis = spec.redis.as_ref().and_then(|redis| redis.access_secret.clone());
    let database = spec.storage.as_ref().and_then(Storage::external_database);
    let database = database.and_then(|database| database.access_secret.clone());
    let events = spec.events.as_ref().and_then(|events| events.access_secret.clone());
    let write = (spec.auth.writes == Writes::Token).then(|| identity.write_token());
    let named = [
        (Access::LanguageModel, language_model),
        (Access::Embedding, remote),
        (Access::Hub, hub),
        (Access::Reranker, reranker.access_secret),
        (Access::RerankerHub, reranker_hub),
        (Access::Postgres, postgres),
        (Access::Redis, redis),
        (Access::VectorDatabase, database),
        (Access::RabbitMq, events),
        (Access::Write, write),
    ];
    named.into_iter().filter_map(|(access, secret)| Some((access, secret?))).collect()
}

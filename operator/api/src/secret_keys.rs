//! Keys of the Secrets and ConfigMaps that the resources refer to.

/// API key of the language model, in the Secret of `inferenceService.accessSecret`.
pub const LLM_ACCESS_SECRET: &str = "LLM_ACCESS_SECRET";

/// API key of the embedding endpoint, in the Secret of `embedding.remote.accessSecret`.
pub const EMBEDDING_ACCESS_SECRET: &str = "EMBEDDING_ACCESS_SECRET";

/// API key of the reranker, in the Secret of `rerank.accessSecret`.
pub const RERANK_ACCESS_SECRET: &str = "RERANK_ACCESS_SECRET";

/// Password of the database user, in the Secret of `postgres.accessSecret`.
pub const POSTGRES_ACCESS_SECRET: &str = "POSTGRES_ACCESS_SECRET";

/// API key of Weaviate or Qdrant, in the Secret of `storage.vectorDB.accessSecret`.
pub const VECTOR_DB_ACCESS_SECRET: &str = "VECTOR_DB_ACCESS_SECRET";

/// Password of the Redis server, in the Secret of `redis.accessSecret`.
pub const REDIS_ACCESS_SECRET: &str = "REDIS_ACCESS_SECRET";

/// Password of the RabbitMQ user, in the Secret of `events.accessSecret`.
pub const RABBITMQ_ACCESS_SECRET: &str = "RABBITMQ_ACCESS_SECRET";

/// The policy, in the ConfigMap of `guardrails.configMapRef`.
pub const GUARDRAILS_POLICY: &str = "guardrails.yaml";

/// Access token of the model hub, in the Secret of `embedding.local.modelAccessSecret` or
/// `rerank.local.modelAccessSecret`.
pub const HF_TOKEN: &str = "HF_TOKEN";

/// Write token, in the Secret `NAME-write`, which the operator creates.
pub const WRITE_TOKEN: &str = "token";

/// Certificate chain of the server, in the Secret of `tls.secretName`.
pub const TLS_CERTIFICATE: &str = "tls.crt";

/// Private key of the server, in the Secret of `tls.secretName`.
pub const TLS_KEY: &str = "tls.key";

/// Certificates of the authority that issued the server's, in the Secret of `tls.secretName`. Optional.
pub const TLS_AUTHORITY: &str = "ca.crt";

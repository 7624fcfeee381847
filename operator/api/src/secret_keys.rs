//! Keys of the Secrets that the resources refer to.

/// API key of the language model, in the Secret of `inferenceService.accessSecret`.
pub const LLM_ACCESS_SECRET: &str = "LLM_ACCESS_SECRET";

/// API key of the embedding endpoint, in the Secret of `embedding.remote.accessSecret`.
pub const EMBEDDING_ACCESS_SECRET: &str = "EMBEDDING_ACCESS_SECRET";

/// API key of the reranker, in the Secret of `rerank.accessSecret`.
pub const RERANK_ACCESS_SECRET: &str = "RERANK_ACCESS_SECRET";

/// Password of the database user, in the Secret of `postgres.accessSecret`.
pub const POSTGRES_ACCESS_SECRET: &str = "POSTGRES_ACCESS_SECRET";

/// Password of the Redis server, in the Secret of `redis.accessSecret`.
pub const REDIS_ACCESS_SECRET: &str = "REDIS_ACCESS_SECRET";

/// Access token of the model hub, in the Secret of `embedding.local.modelAccessSecret` or
/// `rerank.local.modelAccessSecret`.
pub const HF_TOKEN: &str = "HF_TOKEN";

/// Write token, in the Secret `NAME-write`, which the operator creates.
pub const WRITE_TOKEN: &str = "token";

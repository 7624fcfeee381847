//! The keys that the Secrets which a resource refers to must have.

/// In the Secret of `inferenceService.accessSecret`.
pub const LLM_ACCESS_SECRET: &str = "LLM_ACCESS_SECRET";

/// In the Secret of `embedding.remote.accessSecret`.
pub const EMBEDDING_ACCESS_SECRET: &str = "EMBEDDING_ACCESS_SECRET";

/// In the Secret of `embedding.local.modelAccessSecret`.
pub const HF_TOKEN: &str = "HF_TOKEN";

/// In the Secret `NAME-write`, which the operator makes.
pub const WRITE_TOKEN: &str = "token";

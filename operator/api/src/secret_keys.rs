//! Keys of the Secrets that the resources refer to.

/// API key of the language model, in the Secret of `inferenceService.accessSecret`.
pub const LLM_ACCESS_SECRET: &str = "LLM_ACCESS_SECRET";

/// API key of the embedding endpoint, in the Secret of `embedding.remote.accessSecret`.
pub const EMBEDDING_ACCESS_SECRET: &str = "EMBEDDING_ACCESS_SECRET";

/// Access token of the model hub, in the Secret of `embedding.local.modelAccessSecret`.
pub const HF_TOKEN: &str = "HF_TOKEN";

/// Write token, in the Secret `NAME-write`, which the operator creates.
pub const WRITE_TOKEN: &str = "token";

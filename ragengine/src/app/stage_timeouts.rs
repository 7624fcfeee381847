use std::time::Duration;

/// How long the stages of a chat that ask a model may take. After that, the chat goes on without them.
#[derive(Debug, Clone, Copy)]
pub struct StageTimeouts {
    /// Rewriting the question.
    pub rewrite: Duration,
    /// Putting chunks in order.
    pub rerank: Duration,
}

impl Default for StageTimeouts {
    fn default() -> Self {
        Self { rewrite: Duration::from_secs(10), rerank: Duration::from_secs(5) }
    }
}

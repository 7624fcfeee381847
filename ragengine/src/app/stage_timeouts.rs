use std::time::Duration;

/// How long the stages of a chat that ask a model or a store may take. After that, the chat goes on without them.
#[derive(Debug, Clone, Copy)]
pub struct StageTimeouts {
    /// Joining a session.
    pub session: Duration,
    /// Rewriting the question.
    pub rewrite: Duration,
    /// Looking up votes.
    pub feedback: Duration,
    /// Putting chunks in order.
    pub rerank: Duration,
    /// Looking up earlier interactions.
    pub interactions: Duration,
}

impl Default for StageTimeouts {
    fn default() -> Self {
        Self {
            session: Duration::from_secs(1),
            rewrite: Duration::from_secs(10),
            feedback: Duration::from_millis(100),
            rerank: Duration::from_secs(5),
            interactions: Duration::from_millis(300),
        }
    }
}

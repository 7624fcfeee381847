use ragengine_errors::{Class, Fault, Logged, RetryAfter};
use ragengine_guardrails::PolicyProblem;

/// When a chat may be sent again, in seconds.
const RETRY_SECONDS: u32 = 5;

/// There is no valid policy for the answers, so none may be shown.
#[derive(Debug, Clone, thiserror::Error)]
#[error("chats are not answered now: {0}")]
pub(super) struct NoPolicy(#[from] pub PolicyProblem);

impl Fault for NoPolicy {
    fn class(&self) -> Class {
        Class::Unavailable
    }

    fn kind(&self) -> &'static str {
        "no_policy"
    }

    fn retry_after(&self) -> Option<RetryAfter> {
        Some(RetryAfter::Seconds(RETRY_SECONDS))
    }
}

impl Logged for NoPolicy {
    fn own_words(&self) -> Option<String> {
        Some(self.to_string())
    }
}

use std::sync::Arc;

use ragengine_errors::{Class, Fault, Logged, RetryAfter};
use ragengine_guardrails::{Policy, PolicyProblem};

use crate::app::App;

/// When a chat may be sent again, in seconds.
const RETRY_SECONDS: u32 = 5;

/// There is no valid policy for the answers, so none may be shown.
#[derive(Debug, Clone, thiserror::Error)]
#[error("chats are not answered now: {0}")]
pub(super) struct NoPolicy(#[from] pub PolicyProblem);

/// The policy that answers must hold. None if answers are not checked.
///
/// # Errors
///
/// [`NoPolicy`].
pub(super) fn policy(app: &App) -> Result<Option<Arc<Policy>>, NoPolicy> {
    app.guardrails.as_ref().map(|file| file.current()).transpose().map_err(NoPolicy)
}

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

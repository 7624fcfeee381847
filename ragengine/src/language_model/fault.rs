use ragengine_errors::{Class, Fault, Logged, RetryAfter, texts};
use serde_json::Value;

use super::LlmError;

impl Fault for LlmError {
    fn class(&self) -> Class {
        match self {
            Self::Refused { status, .. } => Class::RefusedUpstream(*status),
            Self::Timeout { .. } | Self::Silent { .. } | Self::ListTimeout { .. } => Class::Late,
            Self::QueueFull { .. } | Self::WaitedTooLong { .. } | Self::ListAwaited { .. } => Class::Busy,
            Self::Unreachable { .. } | Self::Elsewhere { .. } | Self::Nonsense(_) => Class::Upstream,
            Self::Missing => Class::Unavailable,
            Self::Embedding(error) => error.class(),
            Self::ShuttingDown(error) => error.class(),
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Refused { .. } => "llm_refused",
            Self::Timeout { .. } | Self::Silent { .. } | Self::ListTimeout { .. } => "llm_timeout",
            Self::Unreachable { .. } => "llm_unreachable",
            Self::QueueFull { .. } => "llm_queue_full",
            Self::WaitedTooLong { .. } => "llm_waited_too_long",
            Self::ListAwaited { .. } => "llm_list_awaited",
            Self::Elsewhere { .. } | Self::Nonsense(_) => "llm_nonsense",
            Self::Missing => "no_model",
            Self::Embedding(error) => error.kind(),
            Self::ShuttingDown(error) => error.kind(),
        }
    }

    fn retry_after(&self) -> Option<RetryAfter> {
        match self {
            Self::Refused { retry_after, .. } => retry_after.clone().map(RetryAfter::Header),
            Self::WaitedTooLong { .. } => Some(RetryAfter::Seconds(5)),
            Self::QueueFull { .. } | Self::ListAwaited { .. } => Some(RetryAfter::Seconds(1)),
            Self::Embedding(error) => error.retry_after(),
            _ => None,
        }
    }

    fn openai_body(&self) -> Option<&Value> {
        match self {
            Self::Refused { body, .. } => body.as_deref(),
            _ => None,
        }
    }
}

impl Logged for LlmError {
    fn own_words(&self) -> Option<String> {
        Some(match self {
            Self::Embedding(error) => return error.own_words(),
            Self::Refused { status, message, .. } => {
                format!("the language model answered {status}, in {}", texts::length(message))
            }
            Self::Elsewhere { status, location } => {
                format!("the language model redirects ({status}) elsewhere, named in {}", texts::length(location))
            }
            error => error.to_string(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_has_no_words_of_the_language_model() {
        let marker = || "somebody's words".to_owned();
        for (error, expected) in [
            (LlmError::Refused { status: 429, message: marker(), body: None, retry_after: None }, "429, in 16"),
            (LlmError::Elsewhere { status: 308, location: marker() }, "(308)"),
        ] {
            let words = error.for_log();
            assert!(words.contains(expected) && !words.contains(&marker()), "{error:?}: {words}");
        }
    }
}

use ragengine_errors::{Class, Fault, Logged, RetryAfter, texts};

use crate::Error;

impl Fault for Error {
    fn class(&self) -> Class {
        match self {
            Self::TooLong { .. } => Class::Invalid,
            Self::Overloaded { .. } => Class::Busy,
            Self::Stopped => Class::Unavailable,
            Self::Timeout { .. } => Class::Late,
            Self::Upstream { .. } | Self::Unreachable { .. } | Self::BadReply(_) => Class::Upstream,
            Self::Configuration(_) | Self::Load { .. } | Self::Inference(_) => Class::Internal,
        }
    }

    fn kind(&self) -> &'static str {
        self.kind()
    }

    fn retry_after(&self) -> Option<RetryAfter> {
        matches!(self, Self::Overloaded { .. }).then_some(RetryAfter::Seconds(1))
    }
}

impl Logged for Error {
    fn own_words(&self) -> Option<String> {
        match self {
            Self::Upstream { status, message } => {
                Some(format!("the embedding endpoint answered {status} with a message of {}", texts::length(message)))
            }
            Self::BadReply(reason) => {
                Some(format!("the embedding endpoint's reply is invalid, described in {}", texts::length(reason)))
            }
            error => Some(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_does_not_quote_the_endpoint() {
        let marker = || "text of endpoint".to_owned();
        for error in [Error::Upstream { status: 429, message: marker() }, Error::BadReply(marker())] {
            let words = error.for_log();
            assert!(words.contains("16 bytes") && !words.contains(&marker()), "{error:?}: {words}");
        }
    }
}

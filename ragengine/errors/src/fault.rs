use std::error::Error;

use serde_json::Value;

use crate::{Class, Logged};

/// When a request may be sent again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RetryAfter {
    /// After this number of seconds.
    Seconds(u32),
    /// The value of an upstream server's `Retry-After` header.
    Header(String),
}

/// An error of a module that made a request fail.
pub trait Fault: Error + Logged + Send + Sync + 'static {
    /// The class of the error.
    fn class(&self) -> Class;

    /// A short name for labels.
    fn kind(&self) -> &'static str;

    /// When the request may be sent again. None if a retry does not help.
    fn retry_after(&self) -> Option<RetryAfter> {
        None
    }

    /// The invalid field of the request, if one is.
    fn field(&self) -> Option<&str> {
        None
    }

    /// An upstream server's error in OpenAI's format, which is forwarded unchanged.
    fn openai_body(&self) -> Option<&Value> {
        None
    }
}

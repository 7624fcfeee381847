use std::error::Error;

use serde_json::Value;

use crate::{Class, Logged};

/// When a request may be sent again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RetryAfter {
    /// After so many seconds.
    Seconds(u32),
    /// As another server said.
    AsSaid(String),
}

/// Why a request was not served, as the module says it where that happened.
pub trait Fault: Error + Logged + Send + Sync + 'static {
    /// Of which class it is.
    fn class(&self) -> Class;

    /// A short name for labels.
    fn kind(&self) -> &'static str;

    /// When the request may be sent again, where trying again helps.
    fn retry_after(&self) -> Option<RetryAfter> {
        None
    }

    /// The field of the request that is at fault, where it is one.
    fn field(&self) -> Option<&str> {
        None
    }

    /// Another server's error in OpenAI's shape, which is passed on as it is.
    fn openai_body(&self) -> Option<&Value> {
        None
    }
}

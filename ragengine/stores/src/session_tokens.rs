//! Sessions of other programs in Redis, which are found by a token of the caller.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use redis::cmd;

use crate::operation::Operations;
use crate::{Redis, StoreError, StoreMetrics};

/// The longest token, in bytes.
const MAX_TOKEN_BYTES: usize = 512;

/// The longest value, in bytes.
const MAX_VALUE_BYTES: usize = 16 << 10;

/// Finds the sessions of tokens. Other programs write them, so the keys have no `stateNamespace`, and nothing is ever
/// written. Nothing is kept in memory either: a session that is deleted ends at once.
pub struct SessionTokens {
    redis: Arc<Redis>,
    key_prefix: String,
    operations: Operations,
}

impl SessionTokens {
    /// Sessions with the keys `{key_prefix}{token}`, such as `session:TOKEN`.
    pub fn new(redis: Arc<Redis>, key_prefix: String, metrics: StoreMetrics) -> Self {
        Self { redis, key_prefix, operations: Operations::new(metrics, "session_tokens") }
    }

    /// The value of a token's session. None if there is none, as for texts that cannot be a token: those without 1 to
    /// 512 characters of `A-Z a-z 0-9 - . _ ~ + / =`, which bearer tokens have.
    ///
    /// # Errors
    ///
    /// [`StoreError::Damaged`] if the value is not a text, or longer than 16 KiB. Else the store's.
    pub async fn look_up(&self, token: &str) -> Result<Option<String>, StoreError> {
        // Not even a failure of Redis concerns the others.
        if !is_token(token) {
            return Ok(None);
        }
        self.operations.run(self.value(token)).await
    }

    async fn value(&self, token: &str) -> Result<Option<String>, StoreError> {
        let mut command = cmd("GETRANGE");
        // One byte more than allowed shows that the value is too long. A missing value is an empty one.
        command.arg(format!("{}{token}", self.key_prefix)).arg(0).arg(MAX_VALUE_BYTES);
        let value: Vec<u8> = self.redis.run(&command).await?;
        if value.is_empty() {
            return Ok(None);
        }
        if value.len() > MAX_VALUE_BYTES {
            return Err(StoreError::Damaged(format!("a session's value has more than {MAX_VALUE_BYTES} bytes")));
        }
        String::from_utf8(value)
            .map(Some)
            .map_err(|_| StoreError::Damaged("a session's value is not a text".to_owned()))
    }
}

/// Whether a text can be a bearer token (RFC 6750). Others could name keys that are no sessions, such as parts of them.
fn is_token(text: &str) -> bool {
    let is_valid = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte);
    (1..=MAX_TOKEN_BYTES).contains(&text.len()) && text.bytes().all(is_valid)
}

//! Replies: bounded, and parsed where it delays no other request.

use std::error::Error as _;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::VectorDatabaseError;

/// Longer replies are not parsed on the threads that serve requests.
const SHORT_BYTES: usize = 32 << 10;

/// The longest message that is kept, in characters.
const MAX_MESSAGE_CHARACTERS: usize = 500;

/// Reads the body of a response, up to a limit.
pub async fn read(response: &mut reqwest::Response, max_bytes: usize) -> Result<Vec<u8>, VectorDatabaseError> {
    let mut body = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(failure)? {
        if body.len() + piece.len() > max_bytes {
            return Err(VectorDatabaseError::LongReply { max_bytes });
        }
        body.extend_from_slice(&piece);
    }
    Ok(body)
}

/// Reads a reply as JSON.
pub async fn parse<T: DeserializeOwned + Send + 'static>(body: Vec<u8>) -> Result<T, VectorDatabaseError> {
    let is_short = body.len() <= SHORT_BYTES;
    let read = move || serde_json::from_slice(&body).map_err(|error| VectorDatabaseError::Reply(error.to_string()));
    if is_short {
        return read();
    }
    tokio::task::spawn_blocking(read).await.map_err(|_| VectorDatabaseError::Reply("reading it failed".to_owned()))?
}

/// The error of a request that got no reply.
pub fn failure(error: reqwest::Error) -> VectorDatabaseError {
    if error.is_timeout() { VectorDatabaseError::Timeout } else { VectorDatabaseError::Unreachable(describe(error)) }
}

/// The message of an error with its causes, without the address.
pub fn describe(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let text = inner.to_string();
        if !words.contains(&text) {
            words = format!("{words}: {text}");
        }
        cause = inner.source();
    }
    words
}

/// The message in a reply that is an error.
pub fn message(body: &[u8]) -> String {
    #[derive(Deserialize)]
    struct Reply {
        #[serde(default)]
        error: Vec<Message>,
        #[serde(default)]
        message: Option<String>,
    }
    let messages = match serde_json::from_slice::<Reply>(body) {
        Ok(Reply { error, message }) => error.into_iter().map(|each| each.message).chain(message).collect::<Vec<_>>(),
        Err(_) => vec![String::from_utf8_lossy(body).into_owned()],
    };
    shortened(&messages.join("; "))
}

/// A message of Weaviate.
#[derive(Debug, Deserialize)]
pub struct Message {
    /// Its text.
    pub message: String,
}

/// The beginning of a message.
pub fn shortened(message: &str) -> String {
    message.chars().take(MAX_MESSAGE_CHARACTERS).collect()
}

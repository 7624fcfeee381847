//! What both HTTP clients need: errors in words, and bodies with a limit.

use std::error::Error as _;

/// A transport error with its causes, without the address (which may carry credentials in its query).
pub(crate) fn describe(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let text = inner.to_string();
        if !words.contains(&text) {
            words.push_str(": ");
            words.push_str(&text);
        }
        cause = inner.source();
    }
    words
}

/// An address as it may appear in a message: without query, fragment and credentials.
pub(crate) fn printable(url: &reqwest::Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.set_fragment(None);
    // Both fail only for addresses that cannot have credentials.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.to_string()
}

/// A body of at most `limit` bytes.
pub(crate) enum Body {
    /// All of it.
    Whole(Vec<u8>),
    /// The first `limit` bytes of a longer one.
    Cut(Vec<u8>),
}

/// Reads a response's body up to `limit` bytes, whatever its declared length.
pub(crate) async fn read_body(response: &mut reqwest::Response, limit: usize) -> Result<Body, reqwest::Error> {
    let mut body = Vec::new();
    while let Some(piece) = response.chunk().await? {
        let room = limit - body.len();
        if piece.len() > room {
            body.extend_from_slice(&piece[..room]);
            return Ok(Body::Cut(body));
        }
        body.extend_from_slice(&piece);
    }
    Ok(Body::Whole(body))
}

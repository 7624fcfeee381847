//! Shared parts of both HTTP clients: error messages and bounded bodies.

use std::error::Error as _;

/// The message of a transport error with its causes, without the address, whose query may contain credentials.
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

/// Formats an address for a message: without query, fragment and credentials.
pub(crate) fn printable(url: &reqwest::Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.set_fragment(None);
    // Both fail only for addresses that cannot have credentials.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.to_string()
}

/// A body of limited length.
pub(crate) enum Body {
    /// The complete body.
    Whole(Vec<u8>),
    /// The beginning of a body that is longer than the limit.
    Cut(Vec<u8>),
}

/// Reads at most `limit` bytes of a response's body, regardless of its declared length.
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

//! Foreign texts: parts of requests and of endpoints' replies. The log omits them unless `log.texts` is `true`.

use std::sync::atomic::{AtomicBool, Ordering};

/// Global because the process has one log.
static ARE_LOGGED: AtomicBool = AtomicBool::new(false);

/// Sets whether foreign texts are logged.
pub fn allow(texts: bool) {
    ARE_LOGGED.store(texts, Ordering::Relaxed);
}

/// Whether foreign texts are logged.
pub fn are_logged() -> bool {
    ARE_LOGGED.load(Ordering::Relaxed)
}

/// Returns the text if foreign texts are logged.
pub fn text(text: &str) -> Option<&str> {
    are_logged().then_some(text)
}

/// A placeholder for the text, with its length in bytes.
pub fn length(text: &str) -> String {
    format!("{} bytes (log.texts: true shows them)", text.len())
}

/// Returns an id chosen by a client if it is short and plain, or if foreign texts are logged.
pub fn id(id: &str) -> Option<&str> {
    (is_plain_id(id.as_bytes()) || are_logged()).then_some(id)
}

/// Whether this is a plain id: 1 to 128 visible ASCII characters without spaces.
pub fn is_plain_id(id: &[u8]) -> bool {
    (1..=MAX_ID_BYTES).contains(&id.len()) && id.iter().all(u8::is_ascii_graphic)
}

/// Maximum length of a plain id in bytes.
const MAX_ID_BYTES: usize = 128;

//! Texts of others: what callers sent and what endpoints answered. They are no part of the log unless `log.texts` says so.

use std::sync::atomic::{AtomicBool, Ordering};

/// The process has one log, and so one answer.
static ARE_LOGGED: AtomicBool = AtomicBool::new(false);

/// Whether texts are logged from now on.
pub fn allow(texts: bool) {
    ARE_LOGGED.store(texts, Ordering::Relaxed);
}

/// Whether texts are logged.
pub fn are_logged() -> bool {
    ARE_LOGGED.load(Ordering::Relaxed)
}

/// The text, where texts are logged.
pub fn text(text: &str) -> Option<&str> {
    are_logged().then_some(text)
}

/// What stands for a text of so many bytes.
pub fn length(text: &str) -> String {
    format!("{} bytes (log.texts: true shows them)", text.len())
}

/// An id that a caller made up, when it is as short and plain as ids are, and so no text.
pub fn id(id: &str) -> Option<&str> {
    (is_plain_id(id.as_bytes()) || are_logged()).then_some(id)
}

/// Whether this can be an id: at most 128 characters that can be seen, none of them a space.
pub fn is_plain_id(id: &[u8]) -> bool {
    (1..=MAX_ID_BYTES).contains(&id.len()) && id.iter().all(u8::is_ascii_graphic)
}

/// The longest id that is taken.
const MAX_ID_BYTES: usize = 128;

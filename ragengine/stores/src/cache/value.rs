//! A stored answer: a byte for the version, and the answer.

use std::sync::Arc;

/// The version. Another one cannot be read.
const VERSION: u8 = 1;

/// The bytes to store.
pub(super) fn encode(answer: &[u8]) -> Vec<u8> {
    [&[VERSION], answer].concat()
}

/// The answer of stored bytes. None if a different version wrote them, or if an answer was removed.
pub(super) fn decode(stored: &[u8]) -> Option<Arc<[u8]>> {
    stored.strip_prefix(&[VERSION]).map(Arc::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_of_this_version_is_read() {
        for answer in [&b""[..], b"x", b"\x01\x00\xff"] {
            assert_eq!(decode(&encode(answer)).as_deref(), Some(answer));
        }
        for other in [&b""[..], b"\x02x", b"\x00"] {
            assert_eq!(decode(other), None);
        }
    }
}

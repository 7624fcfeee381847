//! Short hashes of values.

use serde::Serialize;
use sha2::{Digest as _, Sha256};

/// The first 64 bits of the SHA-256 of a value's JSON, in hexadecimal. Enough to detect changes, but not for security.
pub fn hash(value: &impl Serialize) -> String {
    let json = serde_json::to_vec(value).unwrap_or_default();
    hex::encode(&Sha256::digest(json)[..8])
}

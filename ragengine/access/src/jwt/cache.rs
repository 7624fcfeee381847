use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};

use super::claims::Verified;

/// The verified tokens that are kept at most.
const MAX_TOKENS: usize = 1_000;

/// The hash of a token.
pub(super) type TokenHash = [u8; 32];

/// Tokens that were verified. Checking a signature again would cost up to 200 µs.
#[derive(Default)]
pub(super) struct Cache(Mutex<HashMap<TokenHash, Entry>>);

/// A token that was verified.
#[derive(Clone)]
pub(super) struct Entry {
    pub verified: Arc<Verified>,
    /// The end of the token, in seconds since 1970.
    pub expires_at_s: f64,
    /// The place of its issuer.
    pub issuer: usize,
    /// Of the issuer's keys.
    pub generation: u64,
}

impl Cache {
    /// A token that was verified, and has not expired.
    pub fn get(&self, token: &TokenHash, now_s: f64) -> Option<Entry> {
        self.0.lock().get(token).filter(|entry| now_s < entry.expires_at_s).cloned()
    }

    /// Keeps a verified token. When there is no room, expired ones go, or the one that expires first.
    pub fn keep(&self, token: TokenHash, entry: Entry, now_s: f64) {
        if entry.expires_at_s <= now_s {
            return;
        }
        let mut entries = self.0.lock();
        if entries.len() >= MAX_TOKENS && !entries.contains_key(&token) {
            entries.retain(|_, entry| now_s < entry.expires_at_s);
        }
        if entries.len() >= MAX_TOKENS && !entries.contains_key(&token) {
            let first = entries.iter().min_by(|(_, one), (_, other)| one.expires_at_s.total_cmp(&other.expires_at_s));
            if let Some(first) = first.map(|(token, _)| *token) {
                entries.remove(&first);
            }
        }
        entries.insert(token, entry);
    }

    /// Forgets a token.
    pub fn forget(&self, token: &TokenHash) {
        self.0.lock().remove(token);
    }
}

pub(super) fn hash(token: &str) -> TokenHash {
    Sha256::digest(token).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Identity, Principal};

    fn entry(expires_at_s: f64) -> Entry {
        let identity = Identity::of(Principal::user("ann").unwrap());
        let verified = Arc::new(Verified { identity, is_for_server: true, is_for_operator: false });
        Entry { verified, expires_at_s, issuer: 0, generation: 0 }
    }

    #[test]
    fn a_token_is_kept_until_it_expires() {
        let (cache, token) = (Cache::default(), hash("a"));
        cache.keep(token, entry(10.0), 0.0);
        assert!(cache.get(&token, 9.9).is_some() && cache.get(&hash("b"), 9.9).is_none());
        assert!(cache.get(&token, 10.0).is_none());
        cache.forget(&token);
        assert!(cache.get(&token, 0.0).is_none());
        cache.keep(token, entry(10.0), 10.0);
        assert!(cache.get(&token, 0.0).is_none());
    }

    #[test]
    fn expired_tokens_make_room_and_then_the_one_that_expires_first() {
        let (cache, of) = (Cache::default(), |number: u32| hash(&number.to_string()));
        for number in 0..1_000 {
            cache.keep(of(number), entry(100.0 + f64::from(number)), 0.0);
        }
        cache.keep(of(5_000), entry(5_000.0), 0.0);
        assert_eq!(cache.0.lock().len(), 1_000);
        assert!(cache.get(&of(0), 0.0).is_none() && cache.get(&of(1), 0.0).is_some());
        // Of the first ones, 599 are left.
        cache.keep(of(5_001), entry(5_000.0), 500.5);
        assert_eq!(cache.0.lock().len(), 601);
        // A token that is there replaces itself.
        cache.keep(of(5_001), entry(6_000.0), 0.0);
        assert_eq!(cache.0.lock().len(), 601);
    }
}

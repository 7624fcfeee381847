use std::time::{Duration, Instant};

use ragengine_embedding::Secret;
use sha2::{Digest as _, Sha256};
use subtle::{Choice, ConstantTimeEq as _};

type Hash = [u8; 32];

/// The accepted tokens: the current one and, for a limited time, the previous one. Only their hashes are kept.
pub(super) struct Accepted {
    current: Hash,
    /// With the time at which it expires.
    previous: Option<(Hash, Instant)>,
    is_lost: bool,
}

/// The change that a reread of the token found.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum TokenChange {
    /// There is a new token.
    Changed,
    /// The token cannot be read any more. The last one is still accepted.
    Lost,
}

impl Accepted {
    /// Accepts a single token.
    pub(super) fn only(token: &Secret) -> Self {
        Self { current: hash(token.expose().as_bytes()), previous: None, is_lost: false }
    }

    /// Whether a token is accepted. Compares in constant time.
    pub(super) fn includes(&self, token: &[u8], now: Instant) -> bool {
        let hash = hash(token);
        let is_current = self.current.ct_eq(&hash);
        let is_previous = match &self.previous {
            Some((previous, until)) => previous.ct_eq(&hash) & Choice::from(u8::from(now < *until)),
            None => Choice::from(0),
        };
        (is_current | is_previous).into()
    }

    /// Replaces the current token, which stays accepted for `previous_validity`. `None` changes nothing.
    pub(super) fn replace(
        &mut self,
        found: Option<&Secret>,
        now: Instant,
        previous_validity: Duration,
    ) -> Option<TokenChange> {
        let was_lost = std::mem::replace(&mut self.is_lost, found.is_none());
        let Some(token) = found else { return (!was_lost).then_some(TokenChange::Lost) };
        let hash = hash(token.expose().as_bytes());
        if self.current.ct_eq(&hash).into() {
            return None;
        }
        let until = now.checked_add(previous_validity).unwrap_or(now);
        self.previous = Some((std::mem::replace(&mut self.current, hash), until));
        Some(TokenChange::Changed)
    }
}

fn hash(token: &[u8]) -> Hash {
    Sha256::digest(token).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEN_SECONDS: Duration = Duration::from_secs(10);

    #[test]
    fn the_previous_token_is_accepted_for_a_limited_time() {
        let start = Instant::now();
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        let mut accepted = Accepted::only(&Secret::new("one"));
        let replace = |accepted: &mut Accepted, token: &str, seconds: u64| {
            accepted.replace(Some(&Secret::new(token)), at(seconds), TEN_SECONDS)
        };
        assert!(accepted.includes(b"one", at(0)) && !accepted.includes(b"two", at(0)));
        assert_eq!(replace(&mut accepted, "one\n", 1), None);
        assert_eq!(replace(&mut accepted, "two", 10), Some(TokenChange::Changed));
        assert!(accepted.includes(b"one", at(19)) && accepted.includes(b"two", at(19)));
        assert!(!accepted.includes(b"one", at(20)) && accepted.includes(b"two", at(20)));
        // An unchanged token does not extend the time of the previous one.
        assert_eq!(replace(&mut accepted, "two", 19), None);
        assert!(!accepted.includes(b"one", at(20)));
        assert_eq!(replace(&mut accepted, "three", 40), Some(TokenChange::Changed));
        assert!(!accepted.includes(b"one", at(41)) && accepted.includes(b"two", at(41)));
    }

    #[test]
    fn a_lost_token_stays_accepted_and_is_reported_once() {
        let now = Instant::now();
        let mut accepted = Accepted::only(&Secret::new("one"));
        let one = Secret::new("one");
        let changes = [None, None, Some(&one), None].map(|found| accepted.replace(found, now, TEN_SECONDS));
        assert_eq!(changes, [Some(TokenChange::Lost), None, None, Some(TokenChange::Lost)]);
        assert!(accepted.includes(b"one", now));
    }

    #[test]
    fn only_the_exact_token_is_accepted() {
        let accepted = Accepted::only(&Secret::new("token"));
        for other in ["", "t", "toke", "tokens", "Token", "***"] {
            assert!(!accepted.includes(other.as_bytes(), Instant::now()), "{other}");
        }
    }
}

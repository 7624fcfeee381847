use std::time::{Duration, Instant};

use ragengine_embedding::Secret;
use sha2::{Digest as _, Sha256};
use subtle::{Choice, ConstantTimeEq as _};

type Hash = [u8; 32];

/// The tokens that count: the current one, and for a while the one before.
pub(super) struct Accepted {
    current: Hash,
    /// With the moment from which on it does not count any more.
    previous: Option<(Hash, Instant)>,
}

impl Accepted {
    /// One token.
    pub(super) fn only(token: &Secret) -> Self {
        Self { current: hash(token.expose().as_bytes()), previous: None }
    }

    /// Whether a token counts. How long that takes to find out says nothing about the tokens.
    pub(super) fn includes(&self, token: &[u8], now: Instant) -> bool {
        let hash = hash(token);
        let is_current = self.current.ct_eq(&hash);
        let is_previous = match &self.previous {
            Some((previous, until)) => previous.ct_eq(&hash) & Choice::from(u8::from(now < *until)),
            None => Choice::from(0),
        };
        (is_current | is_previous).into()
    }

    /// Takes a token in place of the current one, which still counts for so long. Says whether it is another one.
    pub(super) fn replace(&mut self, token: &Secret, now: Instant, previous_validity: Duration) -> bool {
        let hash = hash(token.expose().as_bytes());
        let is_another: bool = (!self.current.ct_eq(&hash)).into();
        if is_another {
            let until = now.checked_add(previous_validity).unwrap_or(now);
            self.previous = Some((std::mem::replace(&mut self.current, hash), until));
        }
        is_another
    }
}

fn hash(token: &[u8]) -> Hash {
    Sha256::digest(token).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_token_before_counts_for_a_while() {
        let start = Instant::now();
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        let mut accepted = Accepted::only(&Secret::new("one"));
        assert!(accepted.includes(b"one", at(0)) && !accepted.includes(b"two", at(0)));
        assert!(!accepted.replace(&Secret::new("one\n"), at(1), Duration::from_secs(10)));
        assert!(accepted.replace(&Secret::new("two"), at(10), Duration::from_secs(10)));
        assert!(accepted.includes(b"one", at(19)) && accepted.includes(b"two", at(19)));
        assert!(!accepted.includes(b"one", at(20)) && accepted.includes(b"two", at(20)));
        // Read again without a change: the time of the one before does not begin anew.
        assert!(!accepted.replace(&Secret::new("two"), at(30), Duration::from_secs(10)));
        assert!(!accepted.includes(b"one", at(31)));
        assert!(accepted.replace(&Secret::new("three"), at(40), Duration::from_secs(10)));
        assert!(!accepted.includes(b"one", at(41)) && accepted.includes(b"two", at(41)));
    }

    #[test]
    fn nothing_but_the_whole_token_counts() {
        let accepted = Accepted::only(&Secret::new("token"));
        for other in ["", "t", "toke", "tokens", "Token", "***"] {
            assert!(!accepted.includes(other.as_bytes(), Instant::now()), "{other}");
        }
    }
}

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
    is_lost: bool,
}

/// What is new after the token has been looked for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum News {
    /// It is another one.
    Changed,
    /// It is not there any more. The one that was still counts.
    Lost,
}

impl Accepted {
    /// One token.
    pub(super) fn only(token: &Secret) -> Self {
        Self { current: hash(token.expose().as_bytes()), previous: None, is_lost: false }
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

    /// Takes what was found in place of the current token, which still counts for so long. Nothing found changes nothing.
    pub(super) fn takes(&mut self, found: Option<&Secret>, now: Instant, previous_validity: Duration) -> Option<News> {
        let was_lost = std::mem::replace(&mut self.is_lost, found.is_none());
        let Some(token) = found else { return (!was_lost).then_some(News::Lost) };
        let hash = hash(token.expose().as_bytes());
        if self.current.ct_eq(&hash).into() {
            return None;
        }
        let until = now.checked_add(previous_validity).unwrap_or(now);
        self.previous = Some((std::mem::replace(&mut self.current, hash), until));
        Some(News::Changed)
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
    fn the_token_before_counts_for_a_while() {
        let start = Instant::now();
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        let mut accepted = Accepted::only(&Secret::new("one"));
        let takes = |accepted: &mut Accepted, token: &str, seconds: u64| {
            accepted.takes(Some(&Secret::new(token)), at(seconds), TEN_SECONDS)
        };
        assert!(accepted.includes(b"one", at(0)) && !accepted.includes(b"two", at(0)));
        assert_eq!(takes(&mut accepted, "one\n", 1), None);
        assert_eq!(takes(&mut accepted, "two", 10), Some(News::Changed));
        assert!(accepted.includes(b"one", at(19)) && accepted.includes(b"two", at(19)));
        assert!(!accepted.includes(b"one", at(20)) && accepted.includes(b"two", at(20)));
        // Found again without a change: the time of the one before does not begin anew.
        assert_eq!(takes(&mut accepted, "two", 19), None);
        assert!(!accepted.includes(b"one", at(20)));
        assert_eq!(takes(&mut accepted, "three", 40), Some(News::Changed));
        assert!(!accepted.includes(b"one", at(41)) && accepted.includes(b"two", at(41)));
    }

    #[test]
    fn a_token_that_is_lost_still_counts_and_that_is_news_once() {
        let now = Instant::now();
        let mut accepted = Accepted::only(&Secret::new("one"));
        let one = Secret::new("one");
        let news = [None, None, Some(&one), None].map(|found| accepted.takes(found, now, TEN_SECONDS));
        assert_eq!(news, [Some(News::Lost), None, None, Some(News::Lost)]);
        assert!(accepted.includes(b"one", now));
    }

    #[test]
    fn nothing_but_the_whole_token_counts() {
        let accepted = Accepted::only(&Secret::new("token"));
        for other in ["", "t", "toke", "tokens", "Token", "***"] {
            assert!(!accepted.includes(other.as_bytes(), Instant::now()), "{other}");
        }
    }
}

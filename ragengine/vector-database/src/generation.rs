//! Generations: each write of documents has one, and a document shows only the chunks of its own.

use jiff::Timestamp;

/// The digits of the time.
const TIME_DIGITS: usize = 12;

/// A write. Later ones are greater, as far as the clocks of the writers agree.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Generation(String);

impl Generation {
    /// A new one. No two are the same, whatever the clock says.
    pub fn new() -> Self {
        Self::at(u64::try_from(Timestamp::now().as_millisecond()).unwrap_or_default())
    }

    /// A new one of a time, in milliseconds since 1970.
    pub fn at(time_ms: u64) -> Self {
        let random = uuid::Uuid::new_v4().simple();
        Self(format!("{time_ms:0TIME_DIGITS$x}-{random}"))
    }

    /// One that was stored.
    pub fn stored(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// The text that is stored.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// When the write began, in milliseconds since 1970. None if this is no generation.
    pub fn time_ms(&self) -> Option<u64> {
        u64::from_str_radix(self.0.get(..TIME_DIGITS)?, 16).ok()
    }
}

impl Default for Generation {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_ones_are_greater_and_tell_their_time() {
        let (early, late) = (Generation::at(0xff), Generation::at(0x100));
        assert!(early < late && early != Generation::at(0xff));
        assert_eq!((early.time_ms(), Generation::stored("x").time_ms()), (Some(0xff), None));
        assert_eq!(Generation::stored(late.as_str()), late);
    }
}

/// Decimal digits of a boundary.
const DIGITS: usize = 10;

/// Numbers that there are for a boundary.
const NUMBERS: u64 = 10_u64.pow(DIGITS as u32);

/// What the lines around the passages carry: digits that nobody who wrote a document can know.
///
/// The digits stand apart, because a digit alone is one token in every vocabulary: a prompt costs the same whatever they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Boundary(String);

impl Boundary {
    /// The boundary of a number, which must be a random one for each prompt. Tests choose theirs.
    pub fn of(random: u64) -> Self {
        // Of 2^64 numbers, no remainder is likelier than another by more than 10^-9 of itself.
        let digits = format!("{:0DIGITS$}", random % NUMBERS);
        let mut line = String::from("---");
        for digit in digits.chars() {
            line.extend([' ', digit]);
        }
        Self(line)
    }

    /// The line before the passages, and behind them.
    pub(super) fn line(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_digits_stand_apart() {
        for (random, line) in [
            (0, "--- 0 0 0 0 0 0 0 0 0 0"),
            (12, "--- 0 0 0 0 0 0 0 0 1 2"),
            (9_876_543_210, "--- 9 8 7 6 5 4 3 2 1 0"),
            (u64::MAX, "--- 3 7 0 9 5 5 1 6 1 5"),
        ] {
            assert_eq!(Boundary::of(random).line(), line, "{random}");
        }
    }
}

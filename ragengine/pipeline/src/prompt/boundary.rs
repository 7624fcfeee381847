/// The number of decimal digits of a boundary.
const DIGITS: usize = 10;

/// The number of different boundaries.
const NUMBERS: u64 = 10_u64.pow(DIGITS as u32);

/// The line before and after the passages: three dashes and random digits. The author of a document cannot know them,
/// so no document can contain a valid boundary.
///
/// Spaces separate the digits, because a single digit is one token in every vocabulary. So every boundary has the same
/// number of tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Boundary(String);

impl Boundary {
    /// The boundary with the last digits of this number. Except in tests, it must be random for each prompt.
    pub fn of(random: u64) -> Self {
        // The remainder is almost uniform: probabilities differ by less than 10^-9 of themselves.
        let digits = format!("{:0DIGITS$}", random % NUMBERS);
        let mut line = String::from("---");
        for digit in digits.chars() {
            line.extend([' ', digit]);
        }
        Self(line)
    }

    /// The line, without a line break.
    pub(crate) fn line(&self) -> &str {
        &self.0
    }

    /// The line around texts that have lines of dashes in them, such as interactions: with equals signs.
    pub(crate) fn double_line(&self) -> String {
        self.0.replacen("---", "===", 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spaces_separate_the_digits() {
        for (random, line) in [
            (0, "--- 0 0 0 0 0 0 0 0 0 0"),
            (12, "--- 0 0 0 0 0 0 0 0 1 2"),
            (9_876_543_210, "--- 9 8 7 6 5 4 3 2 1 0"),
            (u64::MAX, "--- 3 7 0 9 5 5 1 6 1 5"),
        ] {
            assert_eq!(Boundary::of(random).line(), line, "{random}");
            assert_eq!(Boundary::of(random).double_line(), line.replace("---", "==="), "{random}");
        }
    }
}

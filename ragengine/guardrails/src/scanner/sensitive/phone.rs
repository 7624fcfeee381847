use crate::patterns::Candidate;

/// Digits in groups with up to three of the usual separators between two digits, and perhaps a plus sign and an area
/// code in brackets first.
pub(super) const PHONE: &str = concat!(
    r"\b{start-half}(?:\+?\([0-9]{2,5}\)[.\- ]{0,2}(?:[0-9][().\- ]{0,3}){4,19}[0-9]",
    r"|\+?(?:[0-9][().\- ]{0,3}){9,24}[0-9])\b{end-half}",
);

/// The digits of a telephone number with its area code, up to the longest number by ITU-T E.164.
const DIGITS: std::ops::RangeInclusive<usize> = 10..=15;

/// Dates and lists of small numbers are no telephone numbers, and digits without any separator may be anything.
pub(super) fn accept(candidate: &str) -> Candidate {
    let digits = candidate.bytes().filter(u8::is_ascii_digit).count();
    let groups = candidate.split(|char: char| !char.is_ascii_digit()).filter(|group| !group.is_empty()).count();
    if digits == candidate.len() || is_date(candidate) || 2 * groups > digits {
        return Candidate::None;
    }
    if !DIGITS.contains(&digits) {
        return if digits < *DIGITS.start() { Candidate::No } else { Candidate::None };
    }
    Candidate::Match(candidate.len())
}

/// Whether the text begins as 2026-11-25 does.
fn is_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    let digit = |index: usize| bytes.get(index).is_some_and(u8::is_ascii_digit);
    let separator = |index: usize| bytes.get(index).is_some_and(|byte| matches!(byte, b'-' | b'.'));
    [0, 1, 2, 3, 5, 6, 8, 9].into_iter().all(digit)
        && separator(4)
        && separator(7)
        && matches!(&bytes[..2], b"19" | b"20")
        && !digit(10)
}

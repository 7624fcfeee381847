use crate::patterns::Candidate;

/// 13 to 19 digits, with at most one space or hyphen between two of them.
pub(super) const CARD: &str = r"\b{start-half}(?:[0-9][ -]?){12,18}[0-9]\b{end-half}";

const MIN_DIGITS: usize = 13;

/// The longest prefix of whole groups that passes the check of Luhn. Other numbers may follow the card's.
pub(super) fn accept(candidate: &str) -> Candidate {
    let mut end = candidate.len();
    loop {
        let digits: Vec<u32> = candidate[..end].chars().filter_map(|char| char.to_digit(10)).collect();
        if digits.len() < MIN_DIGITS {
            return Candidate::No;
        }
        if passes_luhn(&digits) {
            return Candidate::Match(end);
        }
        let Some(shorter) = candidate[..end].rfind([' ', '-']) else { return Candidate::No };
        end = shorter;
    }
}

fn passes_luhn(digits: &[u32]) -> bool {
    let doubled = |digit: u32| if digit > 4 { 2 * digit - 9 } else { 2 * digit };
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(index, digit)| if index % 2 == 1 { doubled(*digit) } else { *digit })
        .sum();
    // Only zeros also pass, but are no card.
    sum > 0 && sum.is_multiple_of(10)
}

//! The text that a chunk repeats from the chunk before it.

/// The least overlap, in bytes. A shorter one may be a coincidence, such as a word at the end and at the beginning.
const MIN_BYTES: usize = 16;

/// The most bytes that are compared. Chunks overlap by at most half of the tokens of one.
const MAX_BYTES: usize = 16 << 10;

/// The length of the longest end of one text that is the beginning of the next one, in bytes. 0 if it is short.
///
/// Finds it with the failure function of Knuth, Morris and Pratt, in linear time.
pub(super) fn overlap_bytes(text: &str, next: &str) -> usize {
    let beginning = &next.as_bytes()[..next.len().min(MAX_BYTES)];
    let end = &text.as_bytes()[text.len().saturating_sub(beginning.len())..];
    let borders = borders(beginning);
    let mut matched = 0;
    for byte in end {
        matched = extended(beginning, &borders, matched, *byte);
    }
    // A match ends where the text ends, which is the end of a character.
    if matched < MIN_BYTES { 0 } else { matched }
}

/// For each length of a beginning, the length of its longest end that is shorter and also a beginning.
fn borders(beginning: &[u8]) -> Vec<usize> {
    let mut borders = vec![0; beginning.len() + 1];
    let mut matched = 0;
    for at in 1..beginning.len() {
        matched = extended(beginning, &borders, matched, beginning[at]);
        borders[at + 1] = matched;
    }
    borders
}

/// The length of the match after one more byte.
fn extended(beginning: &[u8], borders: &[usize], mut matched: usize, byte: u8) -> usize {
    while beginning.get(matched) != Some(&byte) {
        if matched == 0 {
            return 0;
        }
        matched = borders[matched];
    }
    matched + 1
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_longest_end_that_is_a_beginning() {
        let sixteen = "0123456789abcdef";
        let long = "é".repeat(MAX_BYTES);
        for (text, next, expected) in [
            ("", "", 0),
            ("one", "one", 0),
            (sixteen, sixteen, 16),
            (&sixteen[1..], &sixteen[1..], 0),
            ("He said: Tell the office first.", "Tell the office first. Then go.", 22),
            ("Tell the office first.", "tell the office first.", 0),
            ("abababababababababab", "ababababababababababc", 20),
            ("xabcabcabcabcabcabcabd", "abcabcabcabcabcabd", 18),
            ("Straße und Übermut im Äther", "und Übermut im Äther und mehr", 22),
            (&long, &long, MAX_BYTES),
        ] {
            assert_eq!(overlap_bytes(text, next), expected, "{:.40}", text);
        }
    }

    proptest! {
        #[test]
        fn as_a_search_finds_it(text in "[ab]{0,60}", next in "[ab]{0,60}", shared in "[aé]{0,30}") {
            let (text, next) = (format!("{text}{shared}"), format!("{shared}{next}"));
            let is_overlap = |length: &usize| {
                text.as_bytes().ends_with(&next.as_bytes()[..*length])
            };
            let longest = (MIN_BYTES..=next.len().min(text.len())).rfind(is_overlap).unwrap_or(0);
            prop_assert_eq!(overlap_bytes(&text, &next), longest);
            prop_assert!(next.is_char_boundary(longest));
        }
    }
}

//! The words of a text, without their endings.

use std::collections::BTreeSet;

use frostem::{Algorithm, Stemmer};

/// The labels of an entry are no words. Otherwise each entry would share the word `a` with most questions.
const LABELS: [&str; 2] = ["Q:", "A:"];

/// The longest word that is stemmed, in bytes. The stemmer replaces letters one by one, so its time grows with the
/// square of the length.
const MAX_STEMMED_BYTES: usize = 64;

/// The words between white space, in lower case, without punctuation around them, as English stems. `C++` and `C#` keep
/// their signs.
pub(super) fn stems(text: &str) -> BTreeSet<String> {
    let stemmer = Stemmer::new(Algorithm::English);
    let is_around = |character: char| !character.is_alphanumeric() && !matches!(character, '+' | '#');
    text.split_whitespace()
        .filter(|word| !LABELS.contains(word) && word.contains(char::is_alphanumeric))
        .map(|word| word.trim_matches(is_around).to_lowercase())
        .map(|word| if word.len() > MAX_STEMMED_BYTES { word } else { stemmer.stem(&word).into_owned() })
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn words_lose_case_punctuation_and_endings() {
        for (text, expected) in [
            ("", &[][..]),
            (" ?! -- ", &[]),
            ("Programming programs \"Program\"", &["program"]),
            ("[openai] (Python?) **neural** networks…", &["network", "neural", "openai", "python"]),
            ("Q: Is A or B right? A: It is a.", &["a", "b", "is", "it", "or", "right"]),
            ("C, C++ and C#", &["and", "c", "c#", "c++"]),
            ("ÜBUNG # übung", &["übung"]),
        ] {
            assert_eq!(stems(text).iter().collect::<Vec<_>>(), expected, "{text}");
        }
    }

    #[test]
    fn a_long_word_is_left_as_it_is() {
        let long = "aying".repeat(100_000);
        let ending_in_ing = |bytes: usize| "b".repeat(bytes - "walking".len()) + "walking";
        let stem = ending_in_ing(MAX_STEMMED_BYTES).replace("ing", "");
        for (text, expected) in [
            (ending_in_ing(MAX_STEMMED_BYTES), stem),
            (ending_in_ing(MAX_STEMMED_BYTES + 1), ending_in_ing(MAX_STEMMED_BYTES + 1)),
            (long.clone(), long),
        ] {
            assert_eq!(stems(&text).into_iter().collect::<Vec<_>>(), [expected]);
        }
    }

    proptest! {
        #[test]
        fn any_text_has_stems(text in "\\PC{0,60}") {
            prop_assert!(stems(&text).len() <= text.split_whitespace().count());
        }
    }
}

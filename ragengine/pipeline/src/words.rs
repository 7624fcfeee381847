//! Whole words of a query, for rules that are set by hand.

/// The words of a text in lower case, each with a space before and after it. Everything but letters and digits separates
/// words, so `Ga-Counts?` has the words of `ga counts`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Words(String);

impl Words {
    /// The words of a text.
    pub fn of(text: &str) -> Self {
        let mut words = String::from(" ");
        for word in text.split(|character: char| !character.is_alphanumeric()).filter(|word| !word.is_empty()) {
            words.extend(word.chars().flat_map(char::to_lowercase));
            words.push(' ');
        }
        Self(words)
    }

    /// Whether there are no words.
    pub fn is_empty(&self) -> bool {
        self.0.len() == 1
    }

    /// Whether the words of `phrase` occur, one after the other.
    pub fn contain(&self, phrase: &Self) -> bool {
        self.0.contains(&phrase.0)
    }

    /// Whether the words of `phrase` are the first.
    pub fn begin_with(&self, phrase: &Self) -> bool {
        self.0.starts_with(&phrase.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_are_found_as_whole_words_in_any_case() {
        for (text, phrase, expected) in [
            ("What is the Policy?", "policy", true),
            ("What are the policies?", "policy", false),
            ("Log in to Ga-Counts.", "ga counts", true),
            ("gacounts", "ga counts", false),
            ("counts of ga counts", "Ga Counts", true),
            ("Wie heißt die Straße?", "STRASSE", false),
            ("ÜBER uns", "über", true),
            ("", "a", false),
        ] {
            assert_eq!(Words::of(text).contain(&Words::of(phrase)), expected, "{text}: {phrase}");
        }
        assert!(Words::of(" ?! ").is_empty());
    }

    #[test]
    fn a_text_begins_with_whole_words() {
        for (text, phrase, expected) in [
            ("What about us?", "what about", true),
            ("\"And\" them?", "and", true),
            ("Android?", "and", false),
            ("You and I", "and", false),
            ("", "and", false),
        ] {
            assert_eq!(Words::of(text).begin_with(&Words::of(phrase)), expected, "{text}: {phrase}");
        }
    }
}

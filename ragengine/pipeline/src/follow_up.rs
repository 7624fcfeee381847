//! Questions that need the history: finds them, and asks a language model to rewrite them.

mod prompts;
mod reply;

pub use prompts::{MAX_MESSAGES, MAX_QUESTION_CHARS, Said, condense, reformulate};
pub use reply::question_in;

use crate::words::Words;

/// A question with at most this many words after others is a follow-up.
const MAX_WORDS: usize = 5;

/// The words that begin a follow-up.
const BEGINNINGS: [&str; 8] = ["and", "but", "or", "so", "also", "then", "what about", "how about"];

/// Pronouns whose noun may be in the history: of the third person, and demonstrative ones.
const PRONOUNS: [&str; 21] = [
    "he",
    "him",
    "his",
    "himself",
    "she",
    "her",
    "hers",
    "herself",
    "it",
    "its",
    "itself",
    "they",
    "them",
    "their",
    "theirs",
    "themselves",
    "themself",
    "this",
    "that",
    "these",
    "those",
];

/// Whether a question needs the history: it is short, continues a sentence, or has a pronoun whose noun may be there.
/// Without a history it is no follow-up.
pub fn is_follow_up(question: &str, has_history: bool) -> bool {
    if !has_history {
        return false;
    }
    let words = Words::of(question);
    let written = question.split_whitespace().filter(|word| word.contains(char::is_alphanumeric));
    written.count() <= MAX_WORDS
        || BEGINNINGS.iter().any(|beginning| words.begin_with(&Words::of(beginning)))
        || PRONOUNS.iter().any(|pronoun| words.contain(&Words::of(pronoun)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_continued_and_pronominal_questions_are_follow_ups() {
        for (question, expected) in [
            ("What about collaborators?", true),
            ("And the deadline?", true),
            ("Who is the dean now?", true),
            ("Who is the dean of arts?", false),
            ("Who - is - the dean - now?", true),
            ("What’s the size of the budget?", false),
            ("But how do I report in GA Counts?", true),
            ("Or do I report in GA Counts?", true),
            ("So do I report in GA Counts?", true),
            ("Also, do I report in GA Counts?", true),
            ("Then do I report in GA Counts?", true),
            ("How about a report in GA Counts?", true),
            ("Android or iOS for the new app?", false),
            ("Orders above which sum need a signature?", false),
            ("How do collaborators learn about the report?", false),
            ("When does the office send it to collaborators?", true),
            ("When's the day on which it's due?", true),
            ("Do the collaborators report their own hours?", true),
            ("Does the dean read THOSE reports in person?", true),
            ("How do I add an item to the list?", false),
            ("???", true),
            ("", true),
        ] {
            assert_eq!(is_follow_up(question, true), expected, "{question}");
            assert!(!is_follow_up(question, false), "{question}");
        }
    }
}

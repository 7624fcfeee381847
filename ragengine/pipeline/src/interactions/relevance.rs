//! Keeps the entries that share words with the question.

use std::cmp::Reverse;

use super::entries::{entries, joined};
use super::stems::stems;

/// The threshold unless the settings have another.
pub const DEFAULT_THRESHOLD: f64 = 0.1;

/// The entries that are kept.
pub const DEFAULT_MAX_ENTRIES: usize = 3;

/// A question with more words is complex.
const SIMPLE_WORDS: usize = 10;

/// The part of a question's words that an entry must exceed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum OverlapThreshold {
    /// The same for all questions.
    Fixed(f64),
    /// 0.05 for questions of more than 10 words, else 0.15 (`adaptive_threshold`).
    Adaptive,
}

impl OverlapThreshold {
    /// The threshold for a question.
    pub fn of(self, question: &str) -> f64 {
        match self {
            Self::Fixed(threshold) => threshold,
            Self::Adaptive if question.split_whitespace().count() > SIMPLE_WORDS => 0.05,
            Self::Adaptive => 0.15,
        }
    }
}

impl Default for OverlapThreshold {
    fn default() -> Self {
        Self::Fixed(DEFAULT_THRESHOLD)
    }
}

/// The context with the entries that share most words with the question, the most relevant first. An empty context or
/// question changes nothing.
pub fn filter_relevant_context(context: &str, question: &str, max_entries: usize, threshold: f64) -> String {
    if context.is_empty() || question.is_empty() {
        return context.to_owned();
    }
    let entries = entries(context);
    let kept = most_relevant(&entries, question, max_entries, threshold);
    joined(kept.into_iter().map(|place| entries[place]))
}

/// The places of the entries that share most words with the question, the most relevant first: at most `max_entries`,
/// and only those above the threshold. All of them if the question is empty.
///
/// The relevance is the part of the question's words that are in the entry. Entries of the same relevance keep their
/// order.
pub fn most_relevant(entries: &[&str], question: &str, max_entries: usize, threshold: f64) -> Vec<usize> {
    if question.is_empty() {
        return (0..entries.len()).collect();
    }
    let words = stems(question);
    let mut shared: Vec<(usize, usize)> =
        entries.iter().map(|entry| stems(entry).intersection(&words).count()).enumerate().collect();
    shared.sort_by_key(|(_, shared)| Reverse(*shared));
    let is_relevant = |shared: usize| ratio(shared, words.len()) > threshold;
    shared.into_iter().take(max_entries).filter(|(_, shared)| is_relevant(*shared)).map(|(place, _)| place).collect()
}

#[expect(clippy::cast_precision_loss, reason = "a question has far fewer than 2^52 words")]
fn ratio(shared: usize, words: usize) -> f64 {
    if words == 0 { 0.0 } else { shared as f64 / words as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indented_separators_and_inflected_words_are_recognised() {
        let context = "[provider1] Q: Python programming A: Use variables...\n    \n    ---\n    \n    [provider2] Q: \
                       Cooking recipes A: Mix ingredients...";
        let filtered = filter_relevant_context(context, "How to program in Python?", 1, DEFAULT_THRESHOLD);
        assert_eq!(filtered, "[provider1] Q: Python programming A: Use variables...");
    }

    /// The entry about backpropagation shares no word.
    #[test]
    fn the_neural_network_example() {
        let context = [
            "[provider1] Q: How do neural networks work? A: They use layers...",
            "[provider2] Q: What is cooking? A: Cooking is food preparation...",
            "[provider3] Q: Explain backpropagation A: Backpropagation updates weights...",
        ]
        .join("\n\n---\n\n");
        let question = "How does machine learning training work?";
        let filtered = filter_relevant_context(&context, question, 2, DEFAULT_THRESHOLD);
        assert_eq!(filtered, "[provider1] Q: How do neural networks work? A: They use layers...");
    }

    #[test]
    fn the_best_entries_above_the_threshold_stay() {
        let entries = ["one", "Two, one", "three", "one two three", "ONE"];
        for (question, max_entries, threshold, expected) in [
            ("one two three", 3, 0.1, &[3, 1, 0][..]),
            ("one two three", 9, 0.1, &[3, 1, 0, 2, 4]),
            ("one two three", 9, 0.34, &[3, 1]),
            ("one one one", 9, 0.1, &[0, 1, 3, 4]),
            ("one", 0, 0.1, &[]),
            // One of ten words is not more than 0.1.
            ("one b c d e f g h i j", 9, 0.1, &[]),
            ("one b c d e f g h i", 9, 0.1, &[0, 1, 3, 4]),
            ("???", 9, 0.0, &[]),
            ("", 2, 0.1, &[0, 1, 2, 3, 4]),
        ] {
            assert_eq!(most_relevant(&entries, question, max_entries, threshold), expected, "{question}");
        }
    }

    #[test]
    fn an_empty_context_or_question_changes_nothing() {
        for (context, question) in [("", "one"), ("a\n---\nb", ""), ("", "")] {
            assert_eq!(filter_relevant_context(context, question, 3, 0.1), context);
        }
    }

    #[test]
    fn the_adaptive_threshold_is_lower_for_complex_questions() {
        let adaptive = OverlapThreshold::Adaptive;
        for (threshold, question, expected) in [
            (adaptive, "one two three four five six seven eight nine ten", 0.15),
            (adaptive, "one two three four five six seven eight nine ten eleven", 0.05),
            (adaptive, "", 0.15),
            (OverlapThreshold::Fixed(0.3), "one two three four five six seven eight nine ten eleven", 0.3),
            (OverlapThreshold::default(), "one", 0.1),
        ] {
            assert!((threshold.of(question) - expected).abs() < 1e-9, "{threshold:?} {question}");
        }
    }
}

//! Reads the question from the reply of a language model.

use crate::side_prompt::without_reasoning;

/// The longest question, in characters. A longer one is an answer or a repetition.
const MAX_CHARS: usize = 2_000;

/// The words of labels such as `Here is the standalone question:`. A label ends with `question` or `query`.
const LABEL_WORDS: [&str; 16] = [
    "a",
    "condensed",
    "final",
    "here",
    "improved",
    "is",
    "new",
    "reformulated",
    "rephrased",
    "revised",
    "rewritten",
    "search",
    "standalone",
    "the",
    "question",
    "query",
];

/// Pairs of quotes around a whole question.
const QUOTES: [(char, char); 8] =
    [('"', '"'), ('\'', '\''), ('`', '`'), ('“', '”'), ('„', '“'), ('‘', '’'), ('«', '»'), ('「', '」')];

/// The question in a reply: its first line, without a label before it and without quotes or asterisks around it. None
/// if nothing is left, or more than 2,000 characters: the original question stays.
pub fn question_in(reply: &str) -> Option<String> {
    let mut lines = without_reasoning(reply).lines().map(cleaned).filter(|line| line.contains(char::is_alphanumeric));
    let question = lines.next()?;
    (question.chars().nth(MAX_CHARS).is_none()).then(|| question.to_owned())
}

/// A line without what stands around the question. A line that is only a label is empty.
fn cleaned(line: &str) -> &str {
    bare(without_label(bare(line)))
}

fn without_label(line: &str) -> &str {
    let Some((label, question)) = line.split_once([':', '：']) else { return line };
    let label = label.to_lowercase();
    let is_label = label.ends_with("question") || label.ends_with("query");
    let is_of_label = |word: &str| LABEL_WORDS.contains(&word);
    if is_label && label.split_whitespace().all(is_of_label) { question } else { line }
}

/// A text without white space, asterisks and quotes around it.
fn bare(text: &str) -> &str {
    let mut text = trimmed(text);
    while let Some(inner) = QUOTES.iter().find_map(|(open, close)| within(text, *open, *close)) {
        text = trimmed(inner);
    }
    text
}

fn trimmed(text: &str) -> &str {
    text.trim_matches(|character: char| character.is_whitespace() || character.is_control() || character == '*')
}

/// The text within a pair of quotes. None if they also stand in it: `"a" or "b"`.
fn within(text: &str, open: char, close: char) -> Option<&str> {
    let inner = text.strip_prefix(open)?.strip_suffix(close)?;
    (!inner.contains([open, close])).then_some(inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_question_is_the_first_line_without_label_and_quotes() {
        for (reply, expected) in [
            ("What is the reporting deadline for GaCounts?", Some("What is the reporting deadline for GaCounts?")),
            ("  \"How do I add collaborators?\" \n", Some("How do I add collaborators?")),
            ("Standalone question: How do I pay?", Some("How do I pay?")),
            ("**Standalone question:** “How do I pay?”", Some("How do I pay?")),
            ("\"Standalone Question: How do I pay?\"", Some("How do I pay?")),
            ("Here is the standalone question:\n\nHow do I pay?\n\nIt adds the verb.", Some("How do I pay?")),
            ("REWRITTEN QUERY: pay", Some("pay")),
            ("<think>The user: why?</think>\nHow do I pay?", Some("How do I pay?")),
            ("In the policy: what is leave?", Some("In the policy: what is leave?")),
            ("Who wrote \"Emma\" or \"Persuasion\"", Some("Who wrote \"Emma\" or \"Persuasion\"")),
            ("\"Emma\" or \"Persuasion\"", Some("\"Emma\" or \"Persuasion\"")),
            ("What is a good query: this or that?", Some("What is a good query: this or that?")),
            ("'Why?'", Some("Why?")),
            ("Wie hoch ist die Gebühr?\r\n", Some("Wie hoch ist die Gebühr?")),
            ("", None),
            (" \n\"\"\n", None),
            ("Standalone question:", None),
            ("?", None),
        ] {
            assert_eq!(question_in(reply).as_deref(), expected, "{reply:?}");
        }
    }

    #[test]
    fn a_long_question_is_refused() {
        for (chars, is_kept) in [(MAX_CHARS, true), (MAX_CHARS + 1, false)] {
            assert_eq!(question_in(&"ü".repeat(chars)).is_some(), is_kept, "{chars}");
        }
    }
}

//! Answers without a language model: quotes the sentences of the context that are nearest to the question.

use unicode_segmentation::UnicodeSegmentation;

use crate::prompt::escape;
use crate::sentences::sentence_ends;

/// The maximum length of an answer, in sentences.
const MAX_SENTENCES: usize = 5;

/// The minimum number of words in a quoted sentence. Shorter ones answer nothing.
const MIN_WORDS: usize = 3;

/// The largest difference of cosine similarity between a quoted sentence and the best one.
const SIMILARITY_MARGIN: f32 = 0.2;

/// A sentence of a passage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sentence {
    /// The number of the passage, from 1. It is the same as in the prompt.
    pub number: usize,
    /// The text on one line.
    pub text: String,
}

/// The sentences of a passage's text, in reading order. Leaves out headings, code blocks, rules and fragments of less
/// than three words, because they answer nothing alone.
pub fn sentences(number: usize, text: &str) -> Vec<Sentence> {
    let has_words = |phrase: &String| phrase.unicode_words().count() >= MIN_WORDS;
    phrases(text).into_iter().filter(has_words).map(|text| Sentence { number, text }).collect()
}

/// The sentences and fragments of a text, of any length, in reading order. Leaves out headings and code blocks.
pub fn phrases(text: &str) -> Vec<String> {
    paragraphs(text)
        .iter()
        .flat_map(|paragraph| parts(paragraph))
        .map(str::trim)
        .filter(|phrase| !phrase.is_empty())
        .map(str::to_owned)
        .collect()
}

/// Cuts a paragraph at the ends of its sentences.
fn parts(paragraph: &str) -> impl Iterator<Item = &str> {
    let ends = sentence_ends(paragraph).into_iter().chain([paragraph.len()]);
    ends.scan(0, |start, end| paragraph.get(std::mem::replace(start, end)..end))
}

/// The paragraphs of a text, each on one line. Empty lines, list items, table rows and headings separate them.
fn paragraphs(text: &str) -> Vec<String> {
    let mut paragraphs = vec![String::new()];
    let mut in_code = false;
    for line in text.lines().map(str::trim) {
        let is_fence = is_fence(line);
        in_code ^= is_fence;
        let is_break = is_fence || in_code || line.is_empty() || line.starts_with('#') || line.starts_with("---");
        let item = list_item(line);
        if is_break || item.is_some() || line.starts_with('|') {
            paragraphs.push(String::new());
        }
        if is_break {
            continue;
        }
        if let Some(last) = paragraphs.last_mut() {
            if !last.is_empty() {
                last.push(' ');
            }
            last.push_str(item.unwrap_or(line).trim_matches('|').trim());
        }
    }
    paragraphs
}

/// Whether this line, already trimmed, begins or ends a block of code.
pub fn is_fence(line: &str) -> bool {
    line.starts_with("```") || line.starts_with("~~~")
}

/// The text of a list item or a quotation, without the mark such as `- ` or `> `.
fn list_item(line: &str) -> Option<&str> {
    let numbered = || {
        let rest = line.trim_start_matches(|character: char| character.is_ascii_digit());
        rest.strip_prefix(". ").filter(|_| rest.len() < line.len())
    };
    ["- ", "* ", "+ ", "> "].iter().find_map(|mark| line.strip_prefix(mark)).or_else(numbered)
}

/// Picks the sentences that are nearest to the question, without repetitions. Returns their positions in reading order.
/// `similarities` has the cosine similarity of each sentence to the question.
pub fn pick(sentences: &[Sentence], similarities: &[f32]) -> Vec<usize> {
    let mut ranked: Vec<usize> = (0..sentences.len().min(similarities.len())).collect();
    ranked.sort_by(|&left, &right| similarities[right].total_cmp(&similarities[left]).then(left.cmp(&right)));
    let Some(&best) = ranked.first() else { return Vec::new() };
    let floor = similarities[best] - SIMILARITY_MARGIN;
    let mut picked: Vec<usize> = Vec::with_capacity(MAX_SENTENCES);
    for position in ranked.into_iter().filter(|&position| similarities[position] >= floor) {
        let is_new = picked.iter().all(|&other| sentences[other].text != sentences[position].text);
        if is_new && picked.len() < MAX_SENTENCES {
            picked.push(position);
        }
    }
    picked.sort_unstable();
    picked
}

/// The sentence as quoted in the answer: followed by the number of its source. Other numbers in brackets are escaped,
/// so that they are not mistaken for sources.
pub fn quote(sentence: &Sentence) -> String {
    format!("{} [{}]", escape::text(&sentence.text), sentence.number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<String> {
        sentences(1, text).into_iter().map(|sentence| sentence.text).collect()
    }

    #[test]
    fn prose_is_cut_at_sentences_and_not_at_lines() {
        assert_eq!(
            texts("The cat sat\non the mat. It was raining outside!\n\nThe house was empty."),
            ["The cat sat on the mat.", "It was raining outside!", "The house was empty."]
        );
    }

    #[test]
    fn headings_code_and_fragments_are_left_out() {
        let markdown = "# A long heading with words\n\nYes.\n\n```sh\nmake run with some words\n```\n---\n\
            - one item of a list\n2. another item of it\n| a cell | of a table |";
        assert_eq!(texts(markdown), ["one item of a list", "another item of it", "a cell | of a table"]);
    }

    #[test]
    fn a_full_stop_without_a_number_begins_no_item() {
        assert_eq!(
            texts("The listing hides\n. and .. as always.\n1. first of all"),
            ["The listing hides . and .. as always.", "first of all"]
        );
    }

    #[test]
    fn the_nearest_sentences_are_quoted_in_reading_order() {
        let sentences = [
            sentences(1, "Alpha is the first letter. Beta is the second letter."),
            sentences(2, "Gamma is the third letter."),
        ]
        .concat();
        assert_eq!(pick(&sentences, &[0.5, 0.1, 0.6]), [0, 2]);
        assert_eq!(quote(&sentences[2]), "Gamma is the third letter. [2]");
    }

    #[test]
    fn a_quotation_names_no_other_source() {
        for (text, quoted) in [
            ("It is free [2].", "It is free \\[2]. [1]"),
            ("It is free[2], as in [1, 3].", "It is free\\[2], as in \\[1, 3]. [1]"),
            ("Return row_values[2] unchanged.", "Return row_values[2] unchanged. [1]"),
        ] {
            assert_eq!(quote(&sentences(1, text)[0]), quoted);
        }
    }

    #[test]
    fn phrases_may_be_short() {
        let markdown = "# Leave\n\nThe boat leaves. Sick leave?\n\n```\nNo code.\n```\nYes.\n\n";
        assert_eq!(phrases(markdown), ["The boat leaves.", "Sick leave?", "Yes."]);
    }

    #[test]
    fn a_repeated_sentence_is_quoted_once_from_its_best_place() {
        let sentences = [sentences(1, "The same words here."), sentences(2, "The same words here.")].concat();
        assert_eq!(pick(&sentences, &[0.5, 0.5]), [0]);
    }

    #[test]
    fn an_answer_has_at_most_five_sentences() {
        let many: Vec<Sentence> =
            (0..50).map(|position| Sentence { number: 1, text: format!("sentence {position}") }).collect();
        assert_eq!(pick(&many, &[0.7; 50]), [0, 1, 2, 3, 4]);
        assert_eq!(pick(&[], &[]), Vec::<usize>::new());
    }
}

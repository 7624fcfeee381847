//! Documents and questions, generated from templates and a fixed seed, so that every run measures the same texts.

mod random;
mod sentences;
mod vocabulary;

pub use random::Random;
use sentences::Topic;

/// Minimum length of a document, in characters. The last sentence exceeds it slightly.
const MIN_CHARACTERS: usize = 840;

/// Number of documents for warm-up, which are in no measured index.
const SPARE: usize = 16;

/// Documents to index and questions to ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Corpus {
    /// Texts of about 900 characters, all different.
    pub documents: Vec<String>,
    /// Questions of about ten words, each about one of the documents.
    pub questions: Vec<String>,
    /// Further texts, for warm-up.
    pub spare: Vec<String>,
}

impl Corpus {
    /// A corpus of this size. A smaller corpus has the first documents of a larger one.
    pub fn new(documents: usize, questions: usize) -> Self {
        let topic = |number: usize| Topic::new(&mut Random::new(number as u64));
        Self {
            documents: (0..documents).map(document).collect(),
            questions: (0..questions).map(|number| topic(number * documents / questions).question()).collect(),
            // Numbers beyond those of any corpus.
            spare: (1_000_000..1_000_000 + SPARE).map(document).collect(),
        }
    }
}

/// Text of the document with this number.
pub fn document(number: usize) -> String {
    let mut random = Random::new(number as u64);
    let topic = Topic::new(&mut random);
    let mut text = topic.opening(&mut random);
    let mut templates: Vec<usize> = (0..sentences::TEMPLATES).collect();
    random.shuffle(&mut templates);
    for template in templates {
        if text.len() >= MIN_CHARACTERS {
            break;
        }
        text.push(' ');
        text.push_str(&topic.sentence(template, &mut random));
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn the_corpus_is_deterministic() {
        let corpus = Corpus::new(50, 10);
        assert_eq!(corpus, Corpus::new(50, 10));
        assert_eq!(corpus.documents, Corpus::new(80, 5).documents[..50]);
    }

    #[test]
    fn documents_are_about_900_characters_and_all_different() {
        let corpus = Corpus::new(2000, 200);
        let lengths: Vec<usize> = corpus.documents.iter().map(String::len).collect();
        let mean = lengths.iter().sum::<usize>() / lengths.len();
        assert!((880..=920).contains(&mean), "mean {mean}");
        let extremes = (lengths.iter().min().copied().unwrap(), lengths.iter().max().copied().unwrap());
        assert!(extremes.0 >= MIN_CHARACTERS && extremes.1 <= 1020, "{extremes:?}");
        let different: HashSet<&String> = corpus.documents.iter().chain(&corpus.spare).collect();
        assert_eq!(different.len(), 2000 + SPARE);
        assert!(corpus.documents.iter().all(|text| text.is_ascii() && text.ends_with('.') && !text.contains("  ")));
    }

    #[test]
    fn questions_are_about_ten_words_and_all_different() {
        let questions = Corpus::new(2000, 200).questions;
        let words: Vec<usize> = questions.iter().map(|question| question.split(' ').count()).collect();
        assert!(words.iter().all(|words| (7..=15).contains(words)), "{words:?}");
        assert!((9 * 200..=12 * 200).contains(&words.iter().sum::<usize>()));
        assert_eq!(questions.iter().collect::<HashSet<_>>().len(), 200);
    }
}

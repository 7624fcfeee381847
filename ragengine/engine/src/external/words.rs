//! The words of questions and chunks.

use std::collections::{BTreeSet, HashMap};

use ragengine_index::search::{KnownWords, MAX_TERMS, idf};
use ragengine_index::{Analyzer, IndexError, NamedText, QueryWord};
use ragengine_vector_database::Index as Engine;

use super::fault::of_engine;

/// The most terms of a question that are counted. More are not looked at.
const MAX_COUNTED_TERMS: usize = 512;

/// The terms of a chunk as the vector database keeps them, with spaces between them.
pub fn terms_of_chunk(analyzer: &mut Analyzer, document: &NamedText, heading: Option<&str>, text: &str) -> String {
    let tokens = analyzer.tokens_of_chunk(document.kind, &document.text_of(heading, text));
    tokens.into_iter().map(|token| token.text).collect::<Vec<_>>().join(" ")
}

/// The terms that words are searched by.
fn terms(words: &BTreeSet<QueryWord>) -> BTreeSet<String> {
    let both = words.iter().flat_map(|word| [word.in_prose.clone(), word.in_code.clone()]);
    both.take(MAX_COUNTED_TERMS).collect()
}

/// The terms of a question to search by: all of them, or of many the rarest that some chunk has.
///
/// # Errors
///
/// If the vector database fails.
pub async fn searched_terms(engine: &Engine, words: &BTreeSet<QueryWord>) -> Result<String, IndexError> {
    let terms = terms(words);
    if terms.len() <= MAX_TERMS {
        return Ok(joined(terms));
    }
    let counts = engine.frequencies(&terms).await.map_err(of_engine)?;
    let mut counted: Vec<(u64, String)> =
        counts.into_iter().filter(|(_, count)| *count > 0).map(|(term, count)| (count, term)).collect();
    counted.sort_unstable();
    Ok(joined(counted.into_iter().take(MAX_TERMS).map(|(_, term)| term)))
}

fn joined(terms: impl IntoIterator<Item = String>) -> String {
    terms.into_iter().collect::<Vec<_>>().join(" ")
}

/// In how many chunks each word is.
pub struct Frequencies {
    counts: HashMap<String, u64>,
    chunks: u64,
}

impl Frequencies {
    /// Counts the chunks that have the words.
    ///
    /// # Errors
    ///
    /// If the vector database fails.
    pub async fn of(engine: &Engine, words: &BTreeSet<QueryWord>, chunks: u64) -> Result<Self, IndexError> {
        Ok(Self { counts: engine.frequencies(&terms(words)).await.map_err(of_engine)?, chunks })
    }

    /// The more frequent form of a word counts.
    fn most(&self, word: &QueryWord) -> u64 {
        let of = |term: &str| self.counts.get(term).copied().unwrap_or_default();
        of(&word.in_prose).max(of(&word.in_code))
    }

    fn idf(&self, word: &QueryWord) -> f32 {
        idf(self.most(word), self.chunks)
    }

    /// How well the index knows the words.
    pub fn known(&self, words: &BTreeSet<QueryWord>) -> KnownWords {
        let mut known = KnownWords { count: words.len(), ..KnownWords::default() };
        for word in words {
            known.idf += self.idf(word);
            if self.most(word) == 0 {
                known.unknown += 1;
                known.unknown_idf += self.idf(word);
            }
        }
        known
    }

    /// The sum of the IDF of the words that a chunk with these terms has.
    pub fn covered(&self, words: &BTreeSet<QueryWord>, terms: &str) -> f32 {
        let terms: BTreeSet<&str> = terms.split(' ').collect();
        let is_there =
            |word: &&QueryWord| [&word.in_prose, &word.in_code].iter().any(|term| terms.contains(term.as_str()));
        words.iter().filter(is_there).map(|word| self.idf(word)).sum()
    }
}

#[cfg(test)]
mod tests {
    use ragengine_settings::TextLanguage;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_chunk_has_the_words_of_its_document_and_its_headings() {
        let mut analyzer = Analyzer::new(TextLanguage::English);
        let metadata = json!({"title": "Travel", "path": "docs/policy.md"});
        let document = NamedText::of(metadata.as_object().unwrap());
        let terms = terms_of_chunk(&mut analyzer, &document, Some("Trains"), "Seats are booked.");
        let terms: BTreeSet<&str> = terms.split(' ').collect();
        assert!(["travel", "polici", "train", "seat", "book"].iter().all(|term| terms.contains(term)), "{terms:?}");
    }

    #[test]
    fn words_count_by_their_more_frequent_form() {
        let word = |in_prose: &str, in_code: &str| QueryWord { in_prose: in_prose.into(), in_code: in_code.into() };
        let words = BTreeSet::from([word("polici", "policies"), word("zebra", "zebra")]);
        let counts = HashMap::from([("polici".to_owned(), 3), ("policies".to_owned(), 1), ("zebra".to_owned(), 0)]);
        let frequencies = Frequencies { counts, chunks: 10 };
        let known = frequencies.known(&words);
        assert_eq!((known.count, known.unknown), (2, 1));
        assert!((known.idf - idf(3, 10) - idf(0, 10)).abs() < 1e-6 && (known.unknown_idf - idf(0, 10)).abs() < 1e-6);
        assert!((frequencies.covered(&words, "the policies of") - idf(3, 10)).abs() < 1e-6);
    }
}

//! Splits texts into terms: words in lower case without accents, as stems and without stop words where a language says
//! so.

use std::collections::BTreeSet;

use ragengine_settings::TextLanguage;
use tantivy::tokenizer::{
    AsciiFoldingFilter, BoxTokenStream, Language, LowerCaser, RemoveLongFilter, Stemmer, StopWordFilter, TextAnalyzer,
    Token, TokenStream as _, Tokenizer,
};

use super::words::Words;

/// Longer words are not searched for, in bytes. They are encoded data.
const MAX_WORD_BYTES: usize = 100;

/// How the text of a chunk is analysed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TextKind {
    /// In the language of the settings.
    #[default]
    Prose,
    /// Without stems and stop words.
    Code,
}

/// Splits texts into terms. Each thread needs its own clone.
#[derive(Clone)]
pub struct Analyzer {
    language: TextLanguage,
    prose: TextAnalyzer,
    code: TextAnalyzer,
    /// As `code`, without stop words: a question in words is not about the keywords `for` and `in`.
    code_in_questions: TextAnalyzer,
}

impl Analyzer {
    /// The analyzer of a language.
    pub fn new(language: TextLanguage) -> Self {
        let words = || TextAnalyzer::builder(Words).filter(RemoveLongFilter::limit(MAX_WORD_BYTES)).filter(LowerCaser);
        let code = words().filter(AsciiFoldingFilter).build();
        let Some(stems) = stems(language) else {
            return Self { language, prose: code.clone(), code_in_questions: code.clone(), code };
        };
        let without_stop_words = || match StopWordFilter::new(stems) {
            Some(stop_words) => words().dynamic().filter_dynamic(stop_words),
            None => words().dynamic(),
        };
        Self {
            language,
            prose: without_stop_words().filter_dynamic(Stemmer::new(stems)).filter_dynamic(AsciiFoldingFilter).build(),
            code,
            code_in_questions: without_stop_words().filter_dynamic(AsciiFoldingFilter).build(),
        }
    }

    /// The name of the analysis. Full text that was made with another one cannot be searched.
    pub fn name(&self) -> String {
        format!("text 2 {}", self.language)
    }

    /// The terms of a chunk, in order.
    pub fn tokens_of_chunk(&mut self, kind: TextKind, text: &str) -> Vec<Token> {
        tokens(if kind == TextKind::Code { &mut self.code } else { &mut self.prose }, text)
    }

    /// The text of a chunk as `MarkedTexts` takes it.
    pub fn marked(kind: TextKind, text: &str) -> String {
        let mark = if kind == TextKind::Code { CODE_MARK } else { PROSE_MARK };
        format!("{mark}{text}")
    }

    /// The distinct words of a query. A query that only has stop words is searched for as code.
    pub fn words_of_query(&mut self, text: &str) -> BTreeSet<QueryWord> {
        let in_code = tokens(&mut self.code_in_questions, text);
        if in_code.is_empty() {
            let word = |token: Token| QueryWord { in_prose: token.text.clone(), in_code: token.text };
            return tokens(&mut self.code, text).into_iter().map(word).collect();
        }
        // Stems are made of single words, so both have the same words in the same order.
        let in_prose = tokens(&mut self.prose, text);
        let pairs = in_prose.into_iter().zip(in_code);
        pairs.map(|(in_prose, in_code)| QueryWord { in_prose: in_prose.text, in_code: in_code.text }).collect()
    }
}

/// Marks of [`MarkedTexts`].
const PROSE_MARK: char = 'p';
const CODE_MARK: char = 'c';

/// The same terms for tantivy. The first character of a text says how the rest is analysed, because tantivy analyses all
/// texts of a field in one way. It would encode ready-made terms as JSON, and read them again.
#[derive(Clone)]
pub struct MarkedTexts(pub Analyzer);

impl Tokenizer for MarkedTexts {
    type TokenStream<'a> = BoxTokenStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> BoxTokenStream<'a> {
        match text.strip_prefix(CODE_MARK) {
            Some(code) => self.0.code.token_stream(code),
            None => self.0.prose.token_stream(text.strip_prefix(PROSE_MARK).unwrap_or(text)),
        }
    }
}

/// A word of a query, as it is in prose and in code.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct QueryWord {
    /// Its term in prose, which may be a stem.
    pub in_prose: String,
    /// Its term in code.
    pub in_code: String,
}

fn tokens(analyzer: &mut TextAnalyzer, text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    analyzer.token_stream(text).process(&mut |token| tokens.push(token.clone()));
    tokens
}

fn stems(language: TextLanguage) -> Option<Language> {
    Some(match language {
        TextLanguage::None => return None,
        TextLanguage::Arabic => Language::Arabic,
        TextLanguage::Danish => Language::Danish,
        TextLanguage::Dutch => Language::Dutch,
        TextLanguage::English => Language::English,
        TextLanguage::Finnish => Language::Finnish,
        TextLanguage::French => Language::French,
        TextLanguage::German => Language::German,
        TextLanguage::Greek => Language::Greek,
        TextLanguage::Hungarian => Language::Hungarian,
        TextLanguage::Italian => Language::Italian,
        TextLanguage::Norwegian => Language::Norwegian,
        TextLanguage::Portuguese => Language::Portuguese,
        TextLanguage::Romanian => Language::Romanian,
        TextLanguage::Russian => Language::Russian,
        TextLanguage::Spanish => Language::Spanish,
        TextLanguage::Swedish => Language::Swedish,
        TextLanguage::Tamil => Language::Tamil,
        TextLanguage::Turkish => Language::Turkish,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_chunk(language: TextLanguage, kind: TextKind, text: &str) -> Vec<String> {
        Analyzer::new(language).tokens_of_chunk(kind, text).into_iter().map(|token| token.text).collect()
    }

    #[test]
    fn prose_has_stems_and_code_has_words() {
        let (english, none) = (TextLanguage::English, TextLanguage::None);
        for (language, kind, text, expected) in [
            (english, TextKind::Prose, "The policies are Written", vec!["polici", "written"]),
            (english, TextKind::Code, "for the policies", vec!["for", "the", "policies"]),
            (none, TextKind::Prose, "The Policies", vec!["the", "policies"]),
            (TextLanguage::German, TextKind::Prose, "die Häuser", vec!["haus"]),
            (TextLanguage::French, TextKind::Prose, "les chevaux", vec!["cheval"]),
            (english, TextKind::Prose, "café", vec!["cafe"]),
            (english, TextKind::Prose, &"x".repeat(101), vec![]),
        ] {
            assert_eq!(of_chunk(language, kind, text), expected, "{language} {kind:?} {text}");
        }
    }

    #[test]
    fn marked_texts_have_the_terms_of_their_kind() {
        let analyzer = Analyzer::new(TextLanguage::English);
        let mut marked = MarkedTexts(analyzer.clone());
        for kind in [TextKind::Prose, TextKind::Code] {
            for text in ["the policies, cafés", "prose", "code", "c", ""] {
                let mut terms = Vec::new();
                let marked_text = Analyzer::marked(kind, text);
                marked.token_stream(&marked_text).process(&mut |token| terms.push(token.text.clone()));
                let expected = of_chunk(TextLanguage::English, kind, text);
                assert_eq!(terms, expected, "{kind:?} {text}");
            }
        }
    }

    #[test]
    fn a_query_has_the_words_of_prose_and_of_code() {
        let mut analyzer = Analyzer::new(TextLanguage::English);
        for (query, expected) in [
            ("What are the policies, policies?", vec![("polici", "policies"), ("what", "what")]),
            ("for in", vec![("for", "for"), ("in", "in")]),
            ("readTimeout", vec![("read", "read"), ("readtimeout", "readtimeout"), ("timeout", "timeout")]),
            ("...", vec![]),
        ] {
            let words = analyzer.words_of_query(query);
            let words: Vec<_> = words.iter().map(|word| (word.in_prose.as_str(), word.in_code.as_str())).collect();
            assert_eq!(words, expected, "{query}");
        }
    }

    #[test]
    fn every_language_has_an_analyzer() {
        for language in TextLanguage::ALL {
            assert!(!Analyzer::new(language).words_of_query("Wort word слово").is_empty(), "{language}");
        }
    }
}

//! Citations of an answer.
//!
//! An answer is read once, from left to right:
//!
//! - `scan` tells code from prose, and holds back what is undecided
//! - `marker` reads the markers
//! - `numbering` gives them their new numbers
//! - `tidy` closes the gaps of those that vanish
//! - `first_sentence` tells whether the answer says that the sources do not suffice
//! - `stream` decides what becomes of the answer, and when text may be sent
//! - `sentences` finds the sentences with a number

mod first_sentence;
mod marker;
mod numbering;
pub(crate) mod scan;
mod sentences;
mod stream;
mod tidy;

pub use sentences::cited_sentences;
use serde_json::Value;
pub use stream::{CitationStream, Finished, MAX_UNCITED_BYTES};

/// What tells one source from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CitedSource<'a> {
    /// The title, or what stands for it: the path or the document's id.
    pub title: &'a str,
    /// The page, if the document has pages.
    pub page: Option<Page<'a>>,
}

/// The page of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Page<'a> {
    /// A whole number.
    Number(u64),
    /// What the metadata has instead of a whole number, such as `iv` or `12-13`.
    Other(&'a Value),
}

/// What becomes of answers without citations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CitationRules {
    /// The text instead of an answer that cites nothing.
    pub fallback: String,
    /// Phrases in the first sentence of an answer that say that the sources do not suffice. White space and case do not
    /// matter, words are whole.
    pub insufficient_phrases: Vec<String>,
}

impl Default for CitationRules {
    fn default() -> Self {
        Self {
            fallback: "The documents do not support an answer.".to_owned(),
            insufficient_phrases: ["not enough information", "does not say", "do not say"].map(str::to_owned).into(),
        }
    }
}

/// The outcome of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It cites at least one source.
    Cited,
    /// It cites no source. The fallback stands for it.
    Rejected,
    /// It says that the sources do not suffice. Its words stay, without markers.
    Insufficient,
}

/// An answer with consecutive numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cited {
    /// The text.
    pub text: String,
    /// The sources in the order of their new numbers, as indices: the first is now `[1]`.
    pub citations: Vec<usize>,
    /// The outcome of the answer.
    pub outcome: Outcome,
}

/// Checks and renumbers the citations of a whole answer. A marker `[1]` names the first source.
pub fn cite(answer: &str, sources: &[CitedSource<'_>], rules: &CitationRules) -> Cited {
    let mut stream = CitationStream::new(sources, rules.clone());
    let mut text = stream.push(answer);
    let (rest, Finished { citations, outcome }) = stream.finish();
    text.push_str(&rest);
    Cited { text, citations, outcome }
}

#[cfg(test)]
mod tests;

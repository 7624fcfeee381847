//! Cites an answer while it arrives.

use super::first_sentence::{Opening, has_phrase};
use super::marker::{Marker, Markers};
use super::numbering::Numbering;
use super::scan::{Scanner, Token};
use super::tidy::{Tidy, is_blank};
use super::{CitationRules, CitedSource, Outcome};

/// The maximum length of an answer before its first citation, in bytes. A longer one is rejected.
pub const MAX_UNCITED_BYTES: usize = 1 << 20;

/// What is known at the end of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// The sources in the order of their new numbers, as indices.
    pub citations: Vec<usize>,
    /// The outcome of the answer.
    pub outcome: Outcome,
}

/// Checks and renumbers the citations of an answer that arrives in pieces of any size. Nothing is sent before it is
/// certain that the answer is neither rejected nor insufficient, or that it is insufficient. After that, only undecided
/// text is held back: at most about 600 bytes.
#[derive(Debug)]
pub struct CitationStream {
    pub(super) scanner: Scanner<Markers>,
    body: Body,
}

impl CitationStream {
    /// Begins an answer. A marker `[1]` names the first source.
    pub fn new(sources: &[CitedSource<'_>], rules: CitationRules) -> Self {
        let body = Body {
            rules,
            opening: Opening::default(),
            numbering: Numbering::new(sources),
            numbered: Tidy::default(),
            bare: Tidy::default(),
            fate: Fate::Unread,
        };
        Self { scanner: Scanner::default(), body }
    }

    /// Adds a piece of the answer. Returns the text that may be sent now.
    pub fn push(&mut self, piece: &str) -> String {
        let Self { scanner, body } = self;
        scanner.push(piece, |token| body.add(token));
        body.take()
    }

    /// Ends the answer. Returns the rest of the text. It is the fallback if the answer is rejected.
    pub fn finish(mut self) -> (String, Finished) {
        let Self { scanner, body } = &mut self;
        scanner.finish(|token| body.add(token));
        body.numbered.finish();
        body.bare.finish();
        body.decide(true);
        let text = body.take();
        let Body { numbering, rules, fate, .. } = self.body;
        let citations = numbering.into_citations();
        match fate {
            Fate::Cited => (text, Finished { citations, outcome: Outcome::Cited }),
            Fate::Insufficient => (text, Finished { citations: Vec::new(), outcome: Outcome::Insufficient }),
            _ => (rules.fallback, Finished { citations: Vec::new(), outcome: Outcome::Rejected }),
        }
    }
}

/// What becomes of the answer, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// The first sentence has not ended.
    Unread,
    /// The first sentence is not insufficient, and nothing is cited yet.
    Uncited,
    Cited,
    Insufficient,
    Rejected,
}

#[derive(Debug)]
struct Body {
    rules: CitationRules,
    opening: Opening,
    numbering: Numbering,
    /// The answer with its new numbers.
    numbered: Tidy,
    /// The answer without markers.
    bare: Tidy,
    fate: Fate,
}

impl Body {
    fn add(&mut self, token: Token<'_, Marker>) {
        match token {
            Token::Text(text) => self.text(text),
            Token::Item(marker) => match marker.numbers(self.numbering.source_count()) {
                None => self.text(marker.written()),
                Some(numbers) if marker.address().is_empty() => self.marker(numbers),
                Some(numbers) => {
                    // An address needs its number, also if the one before it is the same.
                    self.numbering.end_run();
                    self.marker(numbers);
                    self.text(marker.address());
                }
            },
        }
        self.decide(false);
    }

    fn text(&mut self, text: &str) {
        if self.fate == Fate::Unread {
            self.opening.text(text);
        }
        if matches!(self.fate, Fate::Unread | Fate::Insufficient) {
            self.bare.text(text);
        }
        if matches!(self.fate, Fate::Unread | Fate::Uncited | Fate::Cited) {
            if !text.chars().all(is_blank) {
                self.numbering.end_run();
            }
            self.numbered.text(text);
        }
    }

    fn marker(&mut self, numbers: &[usize]) {
        if self.fate == Fate::Unread {
            self.opening.marker(numbers.len());
        }
        if matches!(self.fate, Fate::Unread | Fate::Insufficient) {
            self.bare.vanish();
        }
        if matches!(self.fate, Fate::Unread | Fate::Uncited | Fate::Cited) {
            match self.numbering.marker(numbers) {
                Some(marker) => self.numbered.marker(&marker),
                None => self.numbered.vanish(),
            }
        }
    }

    fn decide(&mut self, is_last: bool) {
        if self.fate == Fate::Unread
            && let Some(sentence) = self.opening.sentence(is_last)
        {
            if has_phrase(sentence, &self.rules.insufficient_phrases) {
                self.fate = Fate::Insufficient;
                self.numbered = Tidy::default();
            } else {
                self.fate = Fate::Uncited;
                self.bare = Tidy::default();
            }
        }
        if self.fate == Fate::Uncited {
            if !self.numbering.citations().is_empty() {
                self.fate = Fate::Cited;
            } else if self.numbered.written().len() > MAX_UNCITED_BYTES {
                self.fate = Fate::Rejected;
                self.numbered = Tidy::default();
            }
        }
    }

    /// The text that may be sent.
    fn take(&mut self) -> String {
        match self.fate {
            Fate::Cited => self.numbered.take(),
            Fate::Insufficient => self.bare.take(),
            Fate::Unread | Fate::Uncited | Fate::Rejected => String::new(),
        }
    }
}

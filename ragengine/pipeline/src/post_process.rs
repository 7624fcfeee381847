//! HTML in an answer becomes Markdown.
//!
//! An answer is Markdown in which some models write single elements. A parser of HTML pages would join its lines and
//! escape its marks. So tags are read one by one, and each is replaced by its mark. Code is found as for citations.

mod element;
mod entity;
mod html;
mod markdown;

use element::Elements;
use html::Html;

use crate::answer::scan::{Scanner, Token};

/// Converts a whole answer: HTML becomes Markdown, entities are decoded once, other tags go, code stays as it is.
pub fn post_process(answer: &str) -> String {
    let mut stream = PostProcessStream::default();
    let mut text = stream.push(answer);
    text.push_str(&stream.finish());
    text
}

/// Converts an answer that arrives in pieces of any size. Holds back only what is undecided, at most about
/// 700 bytes.
#[derive(Debug, Default)]
pub struct PostProcessStream {
    scanner: Scanner<Html>,
    elements: Elements,
    has_changed: bool,
}

impl PostProcessStream {
    /// Adds a piece of the answer. Returns the text that may be sent now.
    pub fn push(&mut self, piece: &str) -> String {
        let Self { scanner, elements, has_changed } = self;
        scanner.push(piece, |token| {
            *has_changed |= matches!(token, Token::Item(_));
            add(elements, token);
        });
        elements.take()
    }

    /// Whether anything was converted so far.
    pub fn has_changed(&self) -> bool {
        self.has_changed
    }

    /// Ends the answer. Returns the rest of the text. Nothing may be added after it.
    pub fn finish(&mut self) -> String {
        let Self { scanner, elements, has_changed } = self;
        scanner.finish(|token| {
            *has_changed |= matches!(token, Token::Item(_));
            add(elements, token);
        });
        elements.finish();
        elements.take()
    }
}

fn add(elements: &mut Elements, token: Token<'_, html::Sign>) {
    match token {
        Token::Text(text) => elements.text(text),
        Token::Item(html::Sign::Text(text)) => elements.text(&text),
        Token::Item(html::Sign::Tag(tag)) => elements.tag(&tag),
        Token::Item(html::Sign::Remark | html::Sign::Hidden(_)) => {}
    }
}

#[cfg(test)]
mod tests;

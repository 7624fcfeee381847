//! The syntax of HTML within Markdown: tags, comments and entities.

mod element_content;

use element_content::Content;

use super::entity;
use crate::answer::scan::{Place, Reading, Syntax, Window};

/// Attributes without a value. Others need one, so that `a<b and c>d` has no tag.
const FLAGS: [&str; 9] = ["async", "checked", "controls", "defer", "disabled", "hidden", "nowrap", "open", "reversed"];

/// The maximum number of attributes that are kept.
const MAX_ATTRIBUTES: usize = 32;

/// Finds HTML outside code.
#[derive(Debug)]
pub(super) struct Html;

/// A part of HTML.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Sign {
    /// A decoded entity.
    Text(String),
    Tag(Tag),
    /// What is not shown: a comment, a declaration, an instruction, or an element without text such as a script.
    Remark,
    /// The start tag of such an element, which is too long to be one sign.
    Hidden(&'static str),
}

/// A tag.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Tag {
    /// In lower case.
    pub(super) name: String,
    /// It ends an element.
    pub(super) is_end: bool,
    attributes: Vec<(String, String)>,
}

impl Tag {
    /// The value of an attribute, decoded and on one line.
    pub(super) fn attribute(&self, name: &str) -> Option<String> {
        let (_, value) = self.attributes.iter().find(|(other, _)| other == name)?;
        let value = entity::decode(value);
        let words: Vec<&str> = value.split_whitespace().collect();
        Some(words.join(" "))
    }
}

impl Syntax for Html {
    type Item = Sign;

    fn begins(character: char) -> bool {
        matches!(character, '<' | '&')
    }

    fn read(window: Window<'_>, _: Place) -> Reading<Sign> {
        if window.text.starts_with('&') {
            return match entity::read(window) {
                Reading::Item(bytes, text) => Reading::Item(bytes, Sign::Text(text)),
                Reading::Text(bytes) => Reading::Text(bytes),
                Reading::Open => Reading::Open,
            };
        }
        let mut reader = Reader { rest: &window.text[1..], window };
        match reader.sign() {
            Ok(sign) => Reading::Item(window.text.len() - reader.rest.len(), sign),
            Err(Failure::Ended) if !window.is_whole => Reading::Open,
            Err(_) => Reading::Text(1),
        }
    }

    fn hides(sign: &Sign) -> Option<&'static str> {
        match *sign {
            Sign::Hidden(name) => Some(name),
            _ => None,
        }
    }
}

/// Why a text is no tag.
#[derive(Debug)]
enum Failure {
    /// The text ended too early.
    Ended,
    /// No text may follow that makes it one.
    Other,
}

/// Reads the text behind `<`.
struct Reader<'a> {
    rest: &'a str,
    window: Window<'a>,
}

impl<'a> Reader<'a> {
    fn sign(&mut self) -> Result<Sign, Failure> {
        match self.next()? {
            '!' => self.remark(),
            '?' => self.until("?>"),
            '/' => {
                self.rest = &self.rest[1..];
                let tag = Tag { name: self.name()?, is_end: true, attributes: Vec::new() };
                self.space();
                self.expect('>')?;
                Ok(Sign::Tag(tag))
            }
            _ => {
                let tag = self.start()?;
                self.element(tag)
            }
        }
    }

    /// Decides what a start tag is: one that only the prose mentions does not hide what follows it.
    fn element(&mut self, tag: Tag) -> Result<Sign, Failure> {
        let behind = Window { text: self.rest, ..self.window };
        if tag.name == "pre" {
            let is_preformatted = element_content::is_preformatted(behind).ok_or(Failure::Ended)?;
            return Ok(if is_preformatted { Sign::Tag(tag) } else { Sign::Remark });
        }
        match element_content::of(&tag.name, behind) {
            Some(Content::Shown) => Ok(Sign::Tag(tag)),
            Some(Content::HiddenFar(name)) => Ok(Sign::Hidden(name)),
            Some(Content::Hidden { end }) => {
                self.rest = &self.rest[end..];
                Ok(Sign::Remark)
            }
            None => Err(Failure::Ended),
        }
    }

    fn remark(&mut self) -> Result<Sign, Failure> {
        if self.rest.starts_with("!--") {
            self.rest = &self.rest[3..];
            return self.until("-->");
        }
        match self.rest.as_bytes().get(1) {
            Some(next) if next.is_ascii_alphabetic() => self.until(">"),
            Some(b'-') if self.rest.len() > 2 => Err(Failure::Other),
            None | Some(b'-') => Err(Failure::Ended),
            Some(_) => Err(Failure::Other),
        }
    }

    fn start(&mut self) -> Result<Tag, Failure> {
        let mut tag = Tag { name: self.name()?, ..Tag::default() };
        loop {
            let is_spaced = self.space();
            match self.next()? {
                '>' => break,
                '/' => {
                    self.rest = &self.rest[1..];
                    self.next()?;
                    break;
                }
                _ if is_spaced && tag.attributes.len() < MAX_ATTRIBUTES => tag.attributes.push(self.attribute()?),
                _ => return Err(Failure::Other),
            }
        }
        self.expect('>')?;
        Ok(tag)
    }

    fn attribute(&mut self) -> Result<(String, String), Failure> {
        let is_name = |character: char| character.is_ascii_alphanumeric() || "_:.-@".contains(character);
        let name = self.take(is_name)?.to_ascii_lowercase();
        let before = self.rest;
        self.space();
        if self.next()? != '=' {
            // The white space belongs to the next attribute.
            self.rest = before;
            return if FLAGS.contains(&&*name) { Ok((name, String::new())) } else { Err(Failure::Other) };
        }
        self.rest = &self.rest[1..];
        self.space();
        let quote = self.next()?;
        let value = if matches!(quote, '"' | '\'') {
            let (value, rest) = self.rest[1..].split_once(quote).ok_or(Failure::Ended)?;
            self.rest = rest;
            value
        } else {
            self.take(|character| !character.is_whitespace() && !"\"'=<>`".contains(character))?
        };
        Ok((name, value.to_owned()))
    }

    fn name(&mut self) -> Result<String, Failure> {
        if !self.next()?.is_ascii_alphabetic() {
            return Err(Failure::Other);
        }
        self.take(|character| character.is_ascii_alphanumeric() || character == '-').map(str::to_ascii_lowercase)
    }

    fn until(&mut self, end: &str) -> Result<Sign, Failure> {
        (_, self.rest) = self.rest.split_once(end).ok_or(Failure::Ended)?;
        Ok(Sign::Remark)
    }

    /// Takes one or more characters. The one behind them must be known.
    fn take(&mut self, is_part: impl Fn(char) -> bool) -> Result<&'a str, Failure> {
        let end = self.rest.find(|character| !is_part(character)).ok_or(Failure::Ended)?;
        let (part, rest) = self.rest.split_at(end);
        self.rest = rest;
        if part.is_empty() { Err(Failure::Other) } else { Ok(part) }
    }

    fn space(&mut self) -> bool {
        let rest = self.rest.trim_start_matches([' ', '\t', '\n', '\r']);
        std::mem::replace(&mut self.rest, rest).len() > rest.len()
    }

    fn expect(&mut self, expected: char) -> Result<(), Failure> {
        self.rest = if self.next()? == expected { &self.rest[1..] } else { return Err(Failure::Other) };
        Ok(())
    }

    fn next(&self) -> Result<char, Failure> {
        self.rest.chars().next().ok_or(Failure::Ended)
    }
}

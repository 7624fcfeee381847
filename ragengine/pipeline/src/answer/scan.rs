//! Reads Markdown from left to right in pieces of any size, and finds signs such as markers outside code.
//!
//! Each decision looks at most [`window::MAX_HELD_BYTES`] ahead. So the result does not depend on the pieces, little
//! text is held back, and the work is linear.

pub(crate) mod hidden;
mod line;
mod name;
mod span;
pub(crate) mod window;

use line::{Fence, Kind};
pub(crate) use name::Name;
pub(crate) use window::{Look, Window};

/// A part of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Token<'a, Item> {
    /// Code, or prose without signs. Successive texts belong together. Some are empty.
    Text(&'a str),
    /// A sign outside code.
    Item(Item),
}

/// What the beginning of a text is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reading<Item> {
    /// A sign of this length in bytes.
    Item(usize, Item),
    /// Text of this length in bytes, at least one character.
    Text(usize),
    /// Undecided until more of the text is known.
    Open,
}

/// The signs to find.
pub(crate) trait Syntax {
    /// A sign as it has been read.
    type Item;

    /// Whether a sign may begin with this character.
    fn begins(character: char) -> bool;

    /// Reads the text at a character that may begin a sign.
    fn read(window: Window<'_>, place: Place) -> Reading<Self::Item>;

    /// The name of the element that this sign begins, if its text is not shown.
    fn hides(_: &Self::Item) -> Option<&'static str> {
        None
    }
}

/// What precedes a position.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub(crate) previous: Option<char>,
    /// The name that ends here. A sign ends it.
    pub(crate) name: Name,
    /// A sign ends here.
    pub(crate) is_after_item: bool,
    /// Only white space precedes in the line.
    pub(crate) is_line_start: bool,
    /// A line begins here, and it is unknown whether it begins a block.
    is_unread_line: bool,
}

impl Default for Place {
    fn default() -> Self {
        Self { previous: None, name: Name::default(), is_after_item: false, is_line_start: true, is_unread_line: true }
    }
}

impl Place {
    fn pass(&mut self, text: &str) {
        let Some(last) = text.chars().next_back() else { return };
        let (has_break, line) = text.rsplit_once('\n').map_or((false, text), |(_, line)| (true, line));
        self.is_line_start = (self.is_line_start || has_break) && line.trim().is_empty();
        self.is_unread_line = last == '\n';
        self.previous = Some(last);
        self.name.pass(text);
        self.is_after_item = false;
    }

    fn pass_item(&mut self, text: &str) {
        self.pass(text);
        (self.name, self.is_after_item, self.is_line_start) = (Name::default(), true, false);
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Prose,
    /// Behind a run of backticks of this length. It is unknown whether another run ends a code span.
    Span(usize),
    Fence(Fence),
    /// In the element of this name, whose text is not shown.
    Hidden(&'static str),
}

/// Finds the signs of a syntax. Holds back only what is undecided.
#[derive(Debug)]
pub(crate) struct Scanner<S> {
    unread: String,
    state: State,
    place: Place,
    syntax: std::marker::PhantomData<S>,
    /// The decisions so far. The work of each is bounded, or in proportion to the text that it passes on.
    #[cfg(test)]
    pub(crate) decisions: usize,
}

impl<S> Default for Scanner<S> {
    fn default() -> Self {
        Self {
            unread: String::new(),
            state: State::Prose,
            place: Place::default(),
            syntax: std::marker::PhantomData,
            #[cfg(test)]
            decisions: 0,
        }
    }
}

impl<S: Syntax> Scanner<S> {
    /// Passes on all that is decided with this piece of the text.
    pub(crate) fn push(&mut self, piece: &str, sink: impl FnMut(Token<'_, S::Item>)) {
        self.unread.push_str(piece);
        self.read(false, sink);
    }

    /// Passes on the rest at the end of the text.
    pub(crate) fn finish(&mut self, sink: impl FnMut(Token<'_, S::Item>)) {
        self.read(true, sink);
    }

    fn read(&mut self, is_last: bool, mut sink: impl FnMut(Token<'_, S::Item>)) {
        let mut unread = std::mem::take(&mut self.unread);
        let mut at = 0;
        while at < unread.len() {
            #[cfg(test)]
            {
                self.decisions += 1;
            }
            let is_hidden = matches!(self.state, State::Hidden(_));
            match self.step(&unread[at..], is_last) {
                Reading::Open => break,
                Reading::Text(bytes) => {
                    let text = &unread[at..at + bytes];
                    self.place.pass(text);
                    if !is_hidden {
                        sink(Token::Text(text));
                    }
                    at += bytes;
                }
                Reading::Item(bytes, item) => {
                    self.place.pass_item(&unread[at..at + bytes]);
                    self.state = S::hides(&item).map_or(self.state, State::Hidden);
                    sink(Token::Item(item));
                    at += bytes;
                }
            }
        }
        unread.drain(..at);
        self.unread = unread;
    }

    /// Reads the next part of the text. It is text of no length if only the state has changed.
    fn step(&mut self, rest: &str, is_last: bool) -> Reading<S::Item> {
        let window = Window::of(rest, is_last);
        if let State::Hidden(name) = self.state {
            let Some((bytes, ends)) = hidden::read(window, name) else { return Reading::Open };
            if ends {
                self.state = State::Prose;
            }
            return Reading::Text(bytes);
        }
        if self.place.is_unread_line {
            return self.line(window);
        }
        if let State::Fence(_) = self.state {
            return Reading::Text(rest.find('\n').map_or(rest.len(), |end| end + 1));
        }
        let is_plain = |character: char| !matches!(character, '\n' | '`' | '\\') && !S::begins(character);
        match rest.find(|character| !is_plain(character)) {
            None => Reading::Text(rest.len()),
            Some(0) => self.sign(window),
            Some(next) => Reading::Text(next),
        }
    }

    /// Reads the beginning of a line: it may begin or end a block of code, or end a paragraph and its code spans.
    fn line(&mut self, window: Window<'_>) -> Reading<S::Item> {
        let bytes = match self.state {
            State::Fence(fence) => match fence.closes(window) {
                Look::Open => return Reading::Open,
                Look::No => 0,
                Look::Yes(bytes) => {
                    self.state = State::Prose;
                    bytes
                }
            },
            _ => match line::kind(window) {
                None => return Reading::Open,
                Some(Kind::Continuing) => 0,
                Some(Kind::Block) => {
                    self.state = State::Prose;
                    0
                }
                Some(Kind::Fence(fence, bytes)) => {
                    self.state = State::Fence(fence);
                    bytes
                }
            },
        };
        self.place.is_unread_line = false;
        Reading::Text(bytes)
    }

    /// Reads a character that may mean something.
    fn sign(&mut self, window: Window<'_>) -> Reading<S::Item> {
        let first = window.text.chars().next().unwrap_or_default();
        if first == '\n' {
            return Reading::Text(1);
        }
        let ticks = span::ticks(window.text);
        if ticks == window.text.len() && !window.is_whole {
            return Reading::Open;
        }
        match self.state {
            // What this means depends on whether it is in code.
            State::Span(opening) => match span::end(window, opening) {
                Look::Open => Reading::Open,
                Look::Yes(bytes) => {
                    self.state = State::Prose;
                    Reading::Text(bytes)
                }
                Look::No => {
                    self.state = State::Prose;
                    Reading::Text(0)
                }
            },
            _ if ticks > 0 => {
                self.state = State::Span(ticks);
                Reading::Text(ticks)
            }
            _ if first == '\\' => escape(window),
            _ => S::read(window, self.place),
        }
    }
}

/// Reads a backslash and the character behind it, which begins no sign. The prompt's backslashes escape full-width
/// brackets, too.
fn escape<Item>(window: Window<'_>) -> Reading<Item> {
    match window.text.chars().nth(1) {
        None if !window.is_whole => Reading::Open,
        None => Reading::Text(1),
        Some(next) => Reading::Text(1 + next.len_utf8()),
    }
}

#[cfg(test)]
mod tests;

//! Writes Markdown in pieces: text, breaks between blocks, and marks around words.

/// The maximum length of white space that is held back, in bytes. A break may stand for it.
const MAX_HELD_BYTES: usize = 64;

/// The deepest quotation.
const MAX_QUOTES: usize = 8;

/// A text that is written in pieces.
#[derive(Debug, Default)]
pub(super) struct Markdown {
    text: String,
    /// The white space at the end of the text.
    held: String,
    /// The line breaks before the next text. They stand for the white space around them.
    breaks: usize,
    /// The next break is within a paragraph.
    is_hard: bool,
    /// The line breaks in the white space that was skipped.
    skipped: usize,
    /// What begins the next block, such as `- `. Only before a break.
    prefix: String,
    /// The marks that open before the next text, such as `**`.
    marks: String,
    quotes: usize,
    /// The first character of the line.
    first: Option<char>,
    is_begun: bool,
}

impl Markdown {
    /// Writes text. Its pieces may be of any size.
    pub(super) fn text(&mut self, text: &str) {
        let mut text = text;
        if self.breaks > 0 || !self.marks.is_empty() {
            let rest = text.trim_start_matches(is_space);
            let space = &text[..text.len() - rest.len()];
            if self.breaks > 0 {
                self.skipped += space.matches('\n').count();
            } else if self.held.is_empty() {
                // One space is enough before a mark.
                self.hold(space.get(..1).unwrap_or_default());
            }
            text = rest;
            if text.is_empty() {
                return;
            }
            self.open();
        }
        let end = text.trim_end_matches(is_space).len();
        if end > 0 {
            self.flush();
            self.write(&text[..end]);
        }
        self.hold(&text[end..]);
    }

    /// Writes a space before the next text, unless there is one.
    pub(super) fn space(&mut self) {
        if self.held.is_empty() {
            self.hold(" ");
        }
    }

    /// Begins or ends a block: so many line breaks are between its text and the text before.
    pub(super) fn block(&mut self, breaks: usize) {
        if self.prefix.is_empty() {
            self.skipped += self.held.matches('\n').count();
            self.held.clear();
            self.is_hard = false;
            self.breaks = self.breaks.max(breaks);
        }
    }

    /// Breaks the line within a paragraph.
    pub(super) fn line_break(&mut self) {
        let is_second = self.breaks > 0;
        self.block(if is_second { 2 } else { 1 });
        self.is_hard = !is_second;
    }

    /// Writes this before the next text, at the beginning of its line. An empty one takes it back.
    pub(super) fn prefix(&mut self, prefix: &str) {
        prefix.clone_into(&mut self.prefix);
    }

    /// Writes a mark before the next text, behind the white space.
    pub(super) fn open_mark(&mut self, mark: &str) {
        self.marks.push_str(mark);
    }

    /// Writes a mark behind the latest text, before the white space. Nothing is marked if there is no text.
    pub(super) fn close_mark(&mut self, open: &str, close: &str) {
        if let Some(marks) = self.marks.strip_suffix(open) {
            self.marks.truncate(marks.len());
        } else {
            self.write(close);
        }
    }

    /// Writes this at once, without the white space before it.
    pub(super) fn sign(&mut self, sign: &str) {
        self.held.clear();
        self.open();
        self.write(sign);
    }

    /// Begins or ends a quotation.
    pub(super) fn quote(&mut self, is_end: bool) {
        self.quotes = if is_end { self.quotes.saturating_sub(1) } else { (self.quotes + 1).min(MAX_QUOTES) };
    }

    /// Whether the line is a row of a table.
    pub(super) fn is_in_row(&self) -> bool {
        self.first == Some('|') && self.breaks == 0 && !self.held.contains('\n')
    }

    /// The end of the text.
    pub(super) fn finish(&mut self) {
        if self.breaks == 0 {
            self.flush();
        }
    }

    /// Takes the text so far, without what is held back.
    pub(super) fn take(&mut self) -> String {
        std::mem::take(&mut self.text)
    }

    /// Writes all that precedes the next text.
    fn open(&mut self) {
        self.flush();
        let skipped = std::mem::take(&mut self.skipped);
        let is_hard = std::mem::take(&mut self.is_hard);
        let breaks = std::mem::take(&mut self.breaks);
        let prefix = std::mem::take(&mut self.prefix);
        // Skipped line breaks separated blocks, too, but not an item from its mark.
        let breaks = if prefix.is_empty() { breaks.max(skipped.min(2)) } else { breaks };
        let newlines = if is_hard && breaks == 1 { "  \n" } else { &"\n\n"[..breaks.min(2)] };
        if self.is_begun {
            self.write(newlines);
        } else {
            self.write_raw(&"> ".repeat(self.quotes));
        }
        self.write(&prefix);
        let marks = std::mem::take(&mut self.marks);
        self.write(&marks);
    }

    fn hold(&mut self, space: &str) {
        self.held.push_str(space);
        let over = self.held.len().saturating_sub(MAX_HELD_BYTES);
        let early: String = self.held.drain(..over).collect();
        self.write(&early);
    }

    fn flush(&mut self) {
        let held = std::mem::take(&mut self.held);
        self.write(&held);
    }

    fn write(&mut self, text: &str) {
        if self.quotes == 0 {
            self.write_raw(text);
        } else {
            self.write_raw(&text.replace('\n', &format!("\n{}", "> ".repeat(self.quotes))));
        }
    }

    fn write_raw(&mut self, text: &str) {
        self.is_begun |= !text.is_empty();
        self.text.push_str(text);
        let line = match text.rsplit_once('\n') {
            Some((_, line)) => {
                self.first = None;
                line
            }
            None => text,
        };
        self.first = self.first.or_else(|| line.trim_start_matches(is_space).chars().next());
    }
}

/// Whether a character is white space that Markdown ignores between blocks.
fn is_space(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\n' | '\r')
}

use hayro_interpret::kurbo::{Point, Vec2};

/// Minimum width of a gap that counts as a space, as a share of the font size. Kerned or spaced letters are below it,
/// and squeezed spaces above.
const MIN_SPACE: f64 = 0.13;
/// Maximum backward movement within a line, as a share of the font size. Accents and kerned letters are below it.
const MAX_BACK: f64 = 0.7;
/// Maximum vertical shift within a line, as a share of the font size. Superscripts and subscripts are below it.
const MAX_SHIFT: f64 = 0.55;

/// The text and position of a glyph.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PlacedText {
    pub text: String,
    pub origin: Point,
    /// The writing direction, with length 1.
    pub direction: Vec2,
    /// The distance to the next glyph.
    pub advance: f64,
    pub size: f64,
}

/// A line of text. `start` and `end` are positions along its direction, `across` is the position perpendicular to it,
/// upwards.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Line {
    pub text: String,
    pub direction: Vec2,
    pub start: f64,
    pub end: f64,
    pub across: f64,
    pub size: f64,
}

/// Combines glyphs to lines.
#[derive(Debug, Default)]
pub(super) struct Lines {
    done: Vec<Line>,
    current: Option<Line>,
    last_run: Option<(Point, String)>,
}

impl Lines {
    /// Adds glyphs that are drawn together. A run that is drawn again at the same position, for bold or outlined text,
    /// is ignored.
    pub(super) fn push_run(&mut self, run: &[PlacedText]) {
        let Some(first) = run.first() else {
            return;
        };
        let text: String = run.iter().map(|placed| placed.text.as_str()).collect();
        let is_repeated = self
            .last_run
            .as_ref()
            .is_some_and(|(origin, last)| *last == text && (first.origin - *origin).hypot() < MIN_SPACE * first.size);
        if !is_repeated {
            run.iter().for_each(|placed| self.push(placed));
        }
        self.last_run = Some((first.origin, text));
    }

    pub(super) fn finish(mut self) -> Vec<Line> {
        self.end_line();
        self.done
    }

    fn push(&mut self, placed: &PlacedText) {
        let text = spelled_out(&placed.text);
        let at = Line::starting_with(placed);
        match &mut self.current {
            Some(line) if line.goes_on_at(&at) => {
                if at.start - line.end > MIN_SPACE * at.size {
                    line.push_space();
                }
                if !text.is_empty() {
                    line.push(&text);
                }
                line.end = line.end.max(at.end);
            }
            _ => {
                // A space between two lines is ignored.
                if text.trim().is_empty() {
                    return;
                }
                self.end_line();
                self.current = Some(Line { text, ..at });
            }
        }
    }

    fn end_line(&mut self) {
        if let Some(mut line) = self.current.take() {
            line.text.truncate(line.text.trim_end().len());
            self.done.push(line);
        }
    }
}

impl Line {
    /// Creates an empty line at the position of a glyph.
    fn starting_with(placed: &PlacedText) -> Self {
        let PlacedText { origin, direction, advance, size, .. } = placed;
        let start = origin.to_vec2().dot(*direction);
        let across = origin.to_vec2().dot(Vec2::new(-direction.y, direction.x));
        Self { text: String::new(), direction: *direction, start, end: start + advance, across, size: *size }
    }

    fn goes_on_at(&self, next: &Self) -> bool {
        let size = self.size.max(next.size);
        self.is_parallel(next)
            && (self.across - next.across).abs() < MAX_SHIFT * size
            && next.start - self.end > -MAX_BACK * size
    }

    pub(super) fn is_parallel(&self, other: &Self) -> bool {
        self.direction.dot(other.direction) > 0.99
    }

    fn push(&mut self, text: &str) {
        if text.trim().is_empty() {
            self.push_space();
        } else {
            self.text.push_str(text);
        }
    }

    fn push_space(&mut self) {
        if !self.text.ends_with(' ') {
            self.text.push(' ');
        }
    }
}

/// Splits ligatures into letters, as in queries, and removes control characters; a form feed would end the page.
fn spelled_out(text: &str) -> String {
    let mut spelled = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\u{fb00}' => spelled.push_str("ff"),
            '\u{fb01}' => spelled.push_str("fi"),
            '\u{fb02}' => spelled.push_str("fl"),
            '\u{fb03}' => spelled.push_str("ffi"),
            '\u{fb04}' => spelled.push_str("ffl"),
            '\u{fb05}' | '\u{fb06}' => spelled.push_str("st"),
            '\u{a0}' => spelled.push(' '),
            character if character.is_control() => {}
            character => spelled.push(character),
        }
    }
    spelled
}

#[cfg(test)]
mod tests;

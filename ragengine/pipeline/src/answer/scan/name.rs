//! The name before a position, which tells whether a number in brackets may be an index in code.

/// The name of ASCII letters, digits and `_` that ends at a position, perhaps with indices behind it: `name[0]`.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Name {
    part: Part,
    /// It has an ASCII letter.
    has_letter: bool,
    underscores: Underscores,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Part {
    /// There is no name.
    #[default]
    None,
    Name,
    /// In the brackets of an index.
    Index,
    /// Behind an index.
    Indexed,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Underscores {
    /// None, or only at the beginning.
    #[default]
    Outside,
    /// A letter or digit has begun the name.
    Begun,
    /// An underscore is at the end.
    AtEnd,
    /// An underscore is inside the name, as in names in code.
    Inside,
}

impl Name {
    /// Passes text in pieces of any size.
    pub(super) fn pass(&mut self, text: &str) {
        let is_outside = |character: char| !is_of_name(character) && !matches!(character, '[' | ']');
        let end = text.rsplit(is_outside).next().unwrap_or_default();
        if end.len() < text.len() {
            *self = Self::default();
        }
        for character in end.chars() {
            self.add(character);
        }
    }

    fn add(&mut self, character: char) {
        match (self.part, character) {
            (Part::Name | Part::Indexed, '[') => self.part = Part::Index,
            (Part::Index, ']') => self.part = Part::Indexed,
            (Part::Index, '0'..='9') => {}
            _ if !is_of_name(character) => *self = Self::default(),
            _ => {
                if self.part != Part::Name {
                    *self = Self { part: Part::Name, ..Self::default() };
                }
                self.has_letter |= character.is_ascii_alphabetic();
                self.underscores = match (self.underscores, character) {
                    (Underscores::Begun, '_') => Underscores::AtEnd,
                    (Underscores::Outside, '_') => Underscores::Outside,
                    (Underscores::Outside, _) => Underscores::Begun,
                    (Underscores::AtEnd, other) if other != '_' => Underscores::Inside,
                    (same, _) => same,
                };
            }
        }
    }

    /// Whether a letter is in the name. Without one, it is a number, or there is no name.
    pub(crate) fn has_letter(self) -> bool {
        self.has_letter
    }

    /// Whether an underscore is inside the name. One at its end is markup: `_in full_`.
    pub(crate) fn has_inner_underscore(self) -> bool {
        self.underscores == Underscores::Inside
    }
}

fn is_of_name(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}

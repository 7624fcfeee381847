//! Drops or shows the characters that a person does not see. A language model reads them, so they could carry text to it
//! that no person notices, or change a word for it.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::iter::Peekable;
use std::str::Chars;

use icu_properties::props::{
    CanonicalCombiningClass, DefaultIgnorableCodePoint, Emoji, EmojiModifier, ExtendedPictographic, GeneralCategory,
    JoiningType, PrependedConcatenationMark,
};
use icu_properties::{CodePointMapData, CodePointMapDataBorrowed, CodePointSetData, CodePointSetDataBorrowed};

use super::CATEGORIES;

/// Characters that programs draw nothing for, by Unicode. Unassigned ones are among them.
const IGNORABLE: CodePointSetDataBorrowed<'static> = CodePointSetData::new::<DefaultIgnorableCodePoint>();
/// Characters of the category of invisible ones that are drawn, such as the Arabic sign of a year.
const DRAWN: CodePointSetDataBorrowed<'static> = CodePointSetData::new::<PrependedConcatenationMark>();
const EMOJI: CodePointSetDataBorrowed<'static> = CodePointSetData::new::<Emoji>();
const SKIN_TONES: CodePointSetDataBorrowed<'static> = CodePointSetData::new::<EmojiModifier>();
const PICTURES: CodePointSetDataBorrowed<'static> = CodePointSetData::new::<ExtendedPictographic>();
const JOINING: CodePointMapDataBorrowed<'static, JoiningType> = CodePointMapData::<JoiningType>::new();
const COMBINING: CodePointMapDataBorrowed<'static, CanonicalCombiningClass> =
    CodePointMapData::<CanonicalCombiningClass>::new();

const ZERO_WIDTH_NON_JOINER: char = '\u{200c}';
const ZERO_WIDTH_JOINER: char = '\u{200d}';
/// Encloses the character before it in the picture of a key.
const KEYCAP: char = '\u{20e3}';

/// The text as a person sees it. Idempotent.
///
/// - Shown, as `\u{202E}`: embeddings, overrides and isolates of direction, and their ends. A person reads the
///   characters after them in another order than a language model does, so dropping them would not give what is seen.
/// - A line break: line and paragraph separators, vertical tabs, form feeds, next line.
/// - A space: blank letters and the blank Braille pattern, which are as wide as a letter.
/// - Dropped: other control characters but tab and line breaks; zero-width characters, byte order marks, marks of
///   direction, soft hyphens, tags, invisible operators, variation selectors, annotation marks, and everything else
///   that Unicode lets programs ignore. Words look the same without them.
///
/// Kept where the text would look different without them: single joiners and non-joiners in scripts whose letters change
/// by them, such as those of Persian and Hindi; joiners between the pictures of one emoji; a selector that chooses
/// between an emoji and a sign.
pub(crate) fn seen(text: &str) -> Cow<'_, str> {
    let Some(first) = text.find(|character| sight(character) != Sight::Kept) else { return Cow::Borrowed(text) };
    let mut seen = String::with_capacity(text.len());
    let mut before = Before::default();
    let (plain, rest) = text.split_at(first);
    plain.chars().for_each(|character| before.add(character));
    seen.push_str(plain);
    let mut rest = rest.chars().peekable();
    while let Some(character) = rest.next() {
        let sight = match sight(character) {
            Sight::Dropped if before.needs(character, &mut rest) => Sight::Kept,
            other => other,
        };
        let written = match sight {
            Sight::Kept => character,
            Sight::Break => '\n',
            Sight::Blank => ' ',
            Sight::Dropped => continue,
            Sight::Shown => {
                // Writing to a string cannot fail.
                let _ = write!(seen, "\\u{{{:04X}}}", u32::from(character));
                before = Before::default();
                continue;
            }
        };
        seen.push(written);
        before.add(written);
    }
    Cow::Owned(seen)
}

/// What becomes of a character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sight {
    Kept,
    Break,
    Blank,
    Shown,
    Dropped,
}

/// What becomes of a character that is not needed where it stands.
fn sight(character: char) -> Sight {
    match character {
        ' '..='~' | '\t' | '\n' | '\r' => Sight::Kept,
        '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}' => Sight::Break,
        '\u{2800}' | '\u{3164}' | '\u{ffa0}' => Sight::Blank,
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => Sight::Shown,
        _ if character.is_control() || IGNORABLE.contains(character) => Sight::Dropped,
        _ if CATEGORIES.get(character) == GeneralCategory::Format && !DRAWN.contains(character) => Sight::Dropped,
        _ => Sight::Kept,
    }
}

/// What stands before a character.
#[derive(Debug, Default)]
struct Before {
    /// The last character that was kept.
    last: Option<char>,
    joined: Joined,
}

/// What a joiner would join.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Joined {
    #[default]
    Nothing,
    /// A letter that looks different when it is joined.
    Letter,
    /// A picture of an emoji.
    Picture,
}

impl Before {
    fn add(&mut self, character: char) {
        self.last = Some(character);
        if character.is_ascii() {
            self.joined = Joined::Nothing;
        } else if is_virama(character) {
            self.joined = Joined::Letter;
        } else if PICTURES.contains(character) {
            self.joined = Joined::Picture;
        } else if !SKIN_TONES.contains(character) {
            self.joined = match JOINING.get(character) {
                JoiningType::Transparent => self.joined,
                JoiningType::DualJoining | JoiningType::LeftJoining | JoiningType::RightJoining => Joined::Letter,
                _ => Joined::Nothing,
            };
        }
    }

    /// Whether the text would look different without this invisible character.
    fn needs(&self, character: char, rest: &mut Peekable<Chars<'_>>) -> bool {
        let next = rest.peek().copied();
        let is_before_virama = || next.is_some_and(is_virama) && self.last.is_some_and(char::is_alphabetic);
        match character {
            ZERO_WIDTH_NON_JOINER => self.joined == Joined::Letter || is_before_virama(),
            ZERO_WIDTH_JOINER if self.joined == Joined::Picture => next.is_some_and(|next| PICTURES.contains(next)),
            ZERO_WIDTH_JOINER => self.joined == Joined::Letter || is_before_virama(),
            '\u{fe0e}' | '\u{fe0f}' => {
                self.last.is_some_and(|last| EMOJI.contains(last) && (!last.is_ascii() || next == Some(KEYCAP)))
            }
            _ => false,
        }
    }
}

/// Whether this sign takes the vowel from a letter of an Indian script, which may join it with the next letter.
fn is_virama(character: char) -> bool {
    COMBINING.get(character) == CanonicalCombiningClass::Virama
}

#[cfg(test)]
mod tests;

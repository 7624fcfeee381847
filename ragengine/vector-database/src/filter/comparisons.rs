//! Comparisons, in the two ways that databases know.

use std::ops::Bound;

use ragengine_pipeline::filter::MetadataValue;

use super::digits::{self, MAX_TEXT_BYTES, Ordered};
use super::spans::{Limit, Next, Span, between};
use super::tokens;
use crate::VectorDatabaseError;
use crate::predicate::Predicate;
use crate::property::Property;

/// How values are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparisons {
    /// A value has one text, and a comparison is some patterns of texts.
    Patterns,
    /// A value has a hash of each beginning of its digits, and a comparison is some hashes.
    Prefixes,
}

impl Comparisons {
    /// The largest digit.
    fn last(self) -> u8 {
        match self {
            Self::Patterns => 3,
            Self::Prefixes => 15,
        }
    }

    /// The type and the digits of a value. None for types without an order.
    fn digits(self, value: &MetadataValue) -> Option<(Ordered, Vec<u8>)> {
        let (ordered, digits) = digits::of_value(value)?;
        Some((ordered, if self == Self::Patterns { digits } else { digits::in_pairs(&digits) }))
    }

    /// What objects have of a value, so that comparisons find it.
    pub(super) fn of_value(self, key: &str, value: &MetadataValue) -> Vec<String> {
        let Some((ordered, digits)) = self.digits(value) else { return Vec::new() };
        match self {
            Self::Patterns => vec![format!("{}{}", tokens::of_range(key, ordered), digits::written(&digits))],
            Self::Prefixes => {
                (0..=digits.len()).map(|length| tokens::of_prefix(key, ordered, &digits[..length])).collect()
            }
        }
    }

    /// The condition that one value of a key is within bounds, which are of one type.
    ///
    /// # Errors
    ///
    /// [`VectorDatabaseError::LongComparison`].
    pub(super) fn within(
        self,
        key: &str,
        (low, high): &(Bound<MetadataValue>, Bound<MetadataValue>),
    ) -> Result<Predicate, VectorDatabaseError> {
        let Some(ordered) = [low, high].into_iter().find_map(type_of) else { return Ok(Predicate::Nothing) };
        let (first, last) = [low, high].into_iter().find_map(ends).unzip();
        let (low, high) = (self.limit(key, low, first.as_ref())?, self.limit(key, high, last.as_ref())?);
        let spans = between(low.as_ref(), high.as_ref(), self.last());
        Ok(match self {
            Self::Patterns => {
                let begin = tokens::of_range(key, ordered);
                let like = |span: &Span| Predicate::Like(Property::RANGES, format!("{begin}{}*", pattern(span)));
                Predicate::any(spans.iter().map(like))
            }
            Self::Prefixes => {
                let prefixes = spans.iter().flat_map(|span| prefixes(span, self.last()));
                let hashes = prefixes.map(|digits| tokens::of_prefix(key, ordered, &digits));
                Predicate::is_in(Property::RANGES, hashes.collect())
            }
        })
    }

    /// The limit of a bound. None if it is the end of its type.
    fn limit(
        self,
        key: &str,
        bound: &Bound<MetadataValue>,
        end: Option<&Bound<MetadataValue>>,
    ) -> Result<Option<Limit>, VectorDatabaseError> {
        let (value, is_included) = match bound {
            Bound::Included(value) => (value, true),
            Bound::Excluded(value) => (value, false),
            Bound::Unbounded => return Ok(None),
        };
        if let MetadataValue::Text(text) = value
            && text.len() > MAX_TEXT_BYTES
        {
            let (key, bytes) = (key.chars().take(100).collect(), text.len());
            return Err(VectorDatabaseError::LongComparison { key, bytes, most: MAX_TEXT_BYTES });
        }
        if end == Some(bound) {
            return Ok(None);
        }
        Ok(self.digits(value).map(|(_, digits)| Limit { digits, is_included }))
    }
}

fn type_of(bound: &Bound<MetadataValue>) -> Option<Ordered> {
    match bound {
        Bound::Included(value) | Bound::Excluded(value) => Some(digits::of_value(value)?.0),
        Bound::Unbounded => None,
    }
}

/// The bounds of all values of a bound's type.
fn ends(bound: &Bound<MetadataValue>) -> Option<(Bound<MetadataValue>, Bound<MetadataValue>)> {
    match bound {
        Bound::Included(value) | Bound::Excluded(value) => value.bounds_of_type(),
        Bound::Unbounded => None,
    }
}

/// A span of digits that are written as [`digits::written`] does: one of their characters tells which digits they are
/// above or below.
fn pattern(span: &Span) -> String {
    let next = match span.next {
        Next::Any => String::new(),
        Next::Above(digit) => format!("{}1", unknown(digit)),
        Next::Below(digit) => format!("{}0", unknown(digit.saturating_sub(1))),
    };
    format!("{}{next}", digits::written(&span.begin))
}

fn unknown(characters: u8) -> String {
    "?".repeat(usize::from(characters))
}

/// The digits that values of a span begin with.
fn prefixes(span: &Span, last: u8) -> Vec<Vec<u8>> {
    let with = |digit: u8| [&span.begin[..], &[digit]].concat();
    match span.next {
        Next::Any => vec![span.begin.clone()],
        Next::Above(digit) => (digit + 1..=last).map(with).collect(),
        Next::Below(digit) => (0..digit).map(with).collect(),
    }
}

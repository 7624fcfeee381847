//! Comparisons as patterns.

use std::ops::Bound;

use ragengine_pipeline::filter::MetadataValue;

use super::digits::{self, MAX_TEXT_BYTES, Ordered};
use super::tokens;
use crate::WeaviateError;
use crate::predicate::Predicate;
use crate::property::Property;

/// The largest digit.
const LAST: u8 = 3;

/// A bound that excludes values of its type.
struct Limit {
    digits: Vec<u8>,
    is_included: bool,
}

/// The condition that one value of a key is within bounds, which are of one type.
///
/// # Errors
///
/// [`WeaviateError::LongComparison`].
pub fn within(
    key: &str,
    (low, high): &(Bound<MetadataValue>, Bound<MetadataValue>),
) -> Result<Predicate, WeaviateError> {
    let Some(ordered) = [low, high].into_iter().find_map(type_of) else { return Ok(Predicate::Nothing) };
    let begin = tokens::of_range(key, ordered);
    let (first, last) = [low, high].into_iter().find_map(ends).unzip();
    let patterns = match (limit(key, low, first.as_ref())?, limit(key, high, last.as_ref())?) {
        (None, None) => vec![String::new()],
        (Some(low), None) => above(&low, 0),
        (None, Some(high)) => below(&high, 0),
        (Some(low), Some(high)) => between(&low, &high),
    };
    Ok(Predicate::any(
        patterns.into_iter().map(|pattern| Predicate::Like(Property::RANGES, format!("{begin}{pattern}*"))),
    ))
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

/// The limit of a bound. None if it is the end of its type.
fn limit(
    key: &str,
    bound: &Bound<MetadataValue>,
    end: Option<&Bound<MetadataValue>>,
) -> Result<Option<Limit>, WeaviateError> {
    let (value, is_included) = match bound {
        Bound::Included(value) => (value, true),
        Bound::Excluded(value) => (value, false),
        Bound::Unbounded => return Ok(None),
    };
    if let MetadataValue::Text(text) = value
        && text.len() > MAX_TEXT_BYTES
    {
        let (key, bytes) = (key.chars().take(100).collect(), text.len());
        return Err(WeaviateError::LongComparison { key, bytes, most: MAX_TEXT_BYTES });
    }
    if end == Some(bound) {
        return Ok(None);
    }
    Ok(digits::of_value(value).map(|(_, digits)| Limit { digits, is_included }))
}

/// The patterns of digits above a limit that have its first `shared` digits.
fn above(limit: &Limit, shared: usize) -> Vec<String> {
    let higher =
        |(place, &digit): (usize, &u8)| (digit < LAST).then(|| format!("{}{}1", begin(limit, place), unknown(digit)));
    patterns(limit, shared, higher)
}

/// The patterns of digits below a limit that have its first `shared` digits.
fn below(limit: &Limit, shared: usize) -> Vec<String> {
    let lower =
        |(place, &digit): (usize, &u8)| (digit > 0).then(|| format!("{}{}0", begin(limit, place), unknown(digit - 1)));
    patterns(limit, shared, lower)
}

fn patterns(limit: &Limit, shared: usize, pattern: impl Fn((usize, &u8)) -> Option<String>) -> Vec<String> {
    let itself = limit.is_included.then(|| digits::written(&limit.digits));
    limit.digits.iter().enumerate().skip(shared).filter_map(pattern).chain(itself).collect()
}

/// The patterns of digits between limits.
fn between(low: &Limit, high: &Limit) -> Vec<String> {
    let pairs = low.digits.iter().zip(&high.digits).enumerate();
    let Some((place, (&from, &to))) = pairs.into_iter().find(|(_, (low, high))| low != high) else {
        // Digits of one type never begin with each other, so both are the same.
        let is_included = low.is_included && high.is_included;
        return is_included.then(|| digits::written(&low.digits)).into_iter().collect();
    };
    if from > to {
        return Vec::new();
    }
    let middle = (from + 1..to).map(|digit| format!("{}{}", begin(low, place), digits::written(&[digit])));
    middle.chain(above(low, place + 1)).chain(below(high, place + 1)).collect()
}

fn begin(limit: &Limit, place: usize) -> String {
    digits::written(&limit.digits[..place])
}

fn unknown(characters: u8) -> String {
    "?".repeat(usize::from(characters))
}

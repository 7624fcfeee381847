//! Values of metadata, ordered within their type. Types never mix.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ops::Bound;

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use serde_json::Value;

/// A value of metadata, for comparisons. The order of the types only keeps them apart.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum MetadataValue {
    /// Null.
    Null,
    /// True or false.
    Bool(bool),
    /// A number.
    Number(Number),
    /// A date or time as an instant.
    Instant(Timestamp),
    /// A string as it is written, also one that is a date.
    Text(String),
    /// An object or a list, as JSON that is the same for equal values.
    Json(String),
}

impl MetadataValue {
    /// The value as it is written: a date is a string.
    pub fn exact(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(*value),
            Value::Number(number) => Self::Number(Number::of(number)),
            Value::String(text) => Self::Text(text.clone()),
            Value::Array(_) | Value::Object(_) => Self::Json(sorted(value).to_string()),
        }
    }

    /// The value for operators: a date is an instant.
    pub fn typed(value: &Value) -> Self {
        value.as_str().and_then(instant).map_or_else(|| Self::exact(value), Self::Instant)
    }

    /// The values under which a document with this value is found: the exact one, and for a date also its instant.
    pub fn all_of(value: &Value) -> impl Iterator<Item = Self> {
        [Self::exact(value)].into_iter().chain(value.as_str().and_then(instant).map(Self::Instant))
    }

    /// The bytes of its text.
    pub fn text_bytes(&self) -> usize {
        match self {
            Self::Text(text) | Self::Json(text) => text.len(),
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::Instant(_) => 0,
        }
    }

    /// The bounds of all values of the same type. None for types without an order.
    pub fn bounds_of_type(&self) -> Option<(Bound<Self>, Bound<Self>)> {
        match self {
            Self::Number(_) => {
                Some((Bound::Included(Self::Number(Number::MIN)), Bound::Included(Self::Number(Number::MAX))))
            }
            Self::Instant(_) => {
                let (first, last) = (Self::Instant(Timestamp::MIN), Self::Instant(Timestamp::MAX));
                Some((Bound::Included(first), Bound::Included(last)))
            }
            Self::Text(_) => {
                Some((Bound::Included(Self::Text(String::new())), Bound::Excluded(Self::Json(String::new()))))
            }
            Self::Null | Self::Bool(_) | Self::Json(_) => None,
        }
    }
}

/// A JSON number that compares exactly: 1 equals 1.0, and large integers differ although their nearest floats do not.
#[derive(Debug, Clone, Copy)]
pub struct Number {
    /// The nearest float.
    float: f64,
    /// What an integer is more than the float.
    rest: i128,
}

impl Number {
    const MIN: Self = Self { float: f64::NEG_INFINITY, rest: 0 };
    const MAX: Self = Self { float: f64::INFINITY, rest: 0 };

    /// The nearest float, and what an integer is more than it: at most 1,024 either way. Numbers are ordered by the
    /// first and then by the second, and equal numbers have equal parts.
    pub fn parts(self) -> (f64, i128) {
        (self.float, self.rest)
    }

    fn of(number: &serde_json::Number) -> Self {
        let integer = number.as_i64().map(i128::from).or(number.as_u64().map(i128::from));
        // Adding 0.0 makes -0.0 the same as 0.0. Every JSON number has a nearest float.
        let float = number.as_f64().unwrap_or(f64::INFINITY) + 0.0;
        #[expect(clippy::cast_possible_truncation, reason = "the float of a 64-bit integer is less than 2^65")]
        let rest = integer.map_or(0, |integer| integer - float as i128);
        Self { float, rest }
    }
}

impl Ord for Number {
    fn cmp(&self, other: &Self) -> Ordering {
        self.float.total_cmp(&other.float).then(self.rest.cmp(&other.rest))
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Number {}

/// The instant of a text that is a date (`2026-11-25`, its beginning in UTC) or a date with a time
/// (`2026-11-25T09:00:00+01:00`, RFC 3339; UTC without an offset).
pub(crate) fn instant(text: &str) -> Option<Timestamp> {
    let bytes = text.as_bytes();
    if bytes.get(4) != Some(&b'-') || text.contains('[') {
        return None;
    }
    let of_date = || text.parse::<Date>().ok().filter(|_| text.len() == "2026-11-25".len()).map(Date::into);
    let has_time = matches!(bytes.get(10), Some(b'T' | b't' | b' '));
    let of_time = || if has_time { text.parse::<DateTime>().ok() } else { None };
    let with_offset = if has_time { text.parse::<Timestamp>().ok() } else { None };
    let without_offset = || of_date().or_else(of_time)?.to_zoned(TimeZone::UTC).ok().map(|zoned| zoned.timestamp());
    with_offset.or_else(without_offset)
}

/// The value with the keys of its objects in order, and numbers in one notation.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let in_order: BTreeMap<&String, Value> = fields.iter().map(|(key, value)| (key, sorted(value))).collect();
            in_order.into_iter().map(|(key, value)| (key.clone(), value)).collect()
        }
        Value::Array(items) => items.iter().map(sorted).collect(),
        Value::Number(number) if number.is_f64() => {
            Value::from(number.as_f64().map_or_else(|| number.to_string(), |float| float.to_string()))
        }
        other => Value::from(other.to_string()),
    }
}

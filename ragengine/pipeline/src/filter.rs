//! Metadata filters: conditions on the metadata of the documents that a search may return.
//!
//! A filter is a JSON object whose every key must match. A plain value must equal the document's value or be in the
//! document's list; a list matches any of its values. Operators stand in an object below a key: `$eq`, `$ne`, `$in`,
//! `$nin`, `$gt`, `$gte`, `$lt`, `$lte` and `$exists`. `$and`, `$or` and `$not` combine filters.

mod parse;
mod rules;
mod value;

use std::ops::Bound;

use ragengine_json::{Bounds, REPEATED_KEY};
pub use rules::{FilterRule, rule_for};
use serde_json::{Map, Value};
pub(crate) use value::instant;
pub use value::{MetadataValue, Number};

/// The most values in all conditions of a filter.
const MAX_VALUES: usize = 1_000;

/// The deepest nesting of conditions. The bound on the JSON is not enough, because filters also come from settings.
const MAX_DEPTH: usize = 16;

/// The most comparisons with `$gt`, `$gte`, `$lt` and `$lte`. Each may visit every value of its key.
const MAX_RANGES: usize = 16;

/// Why a filter is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FilterError {
    /// It is not a JSON object in a string. The message is the one of KAITO's API.
    #[error("Invalid metadata filter format. Must be a valid JSON string.")]
    NotAnObject,
    /// An object in it has a key twice.
    #[error("the metadata filter {REPEATED_KEY}: join the conditions with $and")]
    RepeatedKey,
    /// It has too many values.
    #[error("the metadata filter has more than {MAX_VALUES} values")]
    TooLong,
    /// It has too many comparisons.
    #[error("the metadata filter has more than {MAX_RANGES} comparisons with $gt, $gte, $lt or $lte")]
    ManyRanges,
    /// Its conditions are nested too deeply.
    #[error("the metadata filter has conditions that are more than {MAX_DEPTH} deep")]
    TooDeep,
    /// A part of it is not a condition.
    #[error("metadata_filter{place}: {problem}")]
    Malformed {
        /// The place, such as `.$or[1].year.$gte`. It contains the caller's keys.
        place: String,
        /// What is expected there.
        problem: &'static str,
    },
}

impl FilterError {
    /// The message for the log, without the caller's keys.
    pub fn own_words(&self) -> String {
        match self {
            Self::Malformed { problem, .. } => format!("metadata_filter: {problem}"),
            Self::NotAnObject | Self::RepeatedKey | Self::TooLong | Self::ManyRanges | Self::TooDeep => {
                self.to_string()
            }
        }
    }
}

/// A filter on metadata. The default matches every document.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter(Option<Condition>);

/// A condition on the metadata of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// All of these hold.
    All(Vec<Condition>),
    /// One of these holds.
    Any(Vec<Condition>),
    /// This does not hold.
    Not(Box<Condition>),
    /// The metadata has this key. Its value may be null.
    Exists(String),
    /// The value of the key, or an element of its list, is one of these.
    In(String, Vec<MetadataValue>),
    /// The value of the key, or an element of its list, is within these bounds, which are of one type.
    Within(String, (Bound<MetadataValue>, Bound<MetadataValue>)),
}

impl Filter {
    /// A filter from a JSON object.
    ///
    /// # Errors
    ///
    /// [`FilterError`], but not [`FilterError::NotAnObject`].
    pub fn new(object: &Map<String, Value>) -> Result<Self, FilterError> {
        if object.is_empty() {
            Ok(Self::default())
        } else {
            parse::filter(object).map(|condition| Self(Some(condition)))
        }
    }

    /// A filter from a JSON object in a string.
    ///
    /// # Errors
    ///
    /// [`FilterError`].
    pub fn parse(text: &str) -> Result<Self, FilterError> {
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let object =
            Bounds::METADATA_FILTER.object(&mut deserializer).and_then(|object| deserializer.end().map(|()| object));
        let object = object.map_err(|error| match () {
            () if error.to_string().starts_with(REPEATED_KEY) => FilterError::RepeatedKey,
            () if error.is_data() && text.trim_start().starts_with('{') => FilterError::TooLong,
            () => FilterError::NotAnObject,
        })?;
        Self::new(&object)
    }

    /// Whether the filter matches every document.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// The condition. None if the filter matches every document.
    pub fn condition(&self) -> Option<&Condition> {
        self.0.as_ref()
    }

    /// The bytes of its keys and texts.
    pub fn text_bytes(&self) -> usize {
        self.0.as_ref().map_or(0, Condition::text_bytes)
    }

    /// The filter that matches what both match.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match (self.0, other.0) {
            (Some(left), Some(right)) => Self(Some(Condition::All(vec![left, right]))),
            (left, right) => Self(left.or(right)),
        }
    }
}

impl Condition {
    fn text_bytes(&self) -> usize {
        match self {
            Self::All(conditions) | Self::Any(conditions) => conditions.iter().map(Self::text_bytes).sum(),
            Self::Not(condition) => condition.text_bytes(),
            Self::Exists(key) => key.len(),
            Self::In(key, values) => key.len() + values.iter().map(MetadataValue::text_bytes).sum::<usize>(),
            Self::Within(
                key,
                (Bound::Included(low) | Bound::Excluded(low), Bound::Included(high) | Bound::Excluded(high)),
            ) => key.len() + low.text_bytes() + high.text_bytes(),
            Self::Within(key, _) => key.len(),
        }
    }
}

#[cfg(test)]
mod tests;

//! Metadata filters: a JSON object whose every key must match.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use ragengine_client::wire::{METADATA, Metadata};
use roaring::RoaringTreemap;
use serde_json::Value;

/// The most keys of a filter plus values in its lists.
const MAX_VALUES: usize = 1000;

/// A filter is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FilterError {
    /// It is not a JSON object in a string.
    #[error("Invalid metadata filter format. Must be a valid JSON string.")]
    NotAnObject,
    /// It has too many values.
    #[error("the metadata filter has more than {MAX_VALUES} values")]
    TooLong,
}

/// A filter on metadata. Every key must match: the document's value equals the filter's value or is a list that
/// contains it. A list in the filter matches any of its values.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    clauses: Vec<(String, Vec<String>)>,
}

impl Filter {
    /// A filter from a JSON object.
    ///
    /// # Errors
    ///
    /// [`FilterError::TooLong`].
    pub fn new(object: &Metadata) -> Result<Self, FilterError> {
        let clauses: Vec<(String, Vec<String>)> = object
            .iter()
            .map(|(key, value)| match value {
                Value::Array(choices) => (key.clone(), choices.iter().map(canonical).collect()),
                value => (key.clone(), vec![canonical(value)]),
            })
            .collect();
        match clauses.iter().map(|(_, values)| values.len().max(1)).sum::<usize>() {
            values if values > MAX_VALUES => Err(FilterError::TooLong),
            _ => Ok(Self { clauses }),
        }
    }

    /// A filter from a JSON object in a string.
    ///
    /// # Errors
    ///
    /// [`FilterError::NotAnObject`] or [`FilterError::TooLong`].
    pub fn parse(text: &str) -> Result<Self, FilterError> {
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let object = METADATA.object(&mut deserializer).and_then(|object| deserializer.end().map(|()| object));
        let object = object.map_err(|error| {
            if error.is_data() && text.trim_start().starts_with('{') {
                FilterError::TooLong
            } else {
                FilterError::NotAnObject
            }
        })?;
        Self::new(&object)
    }

    /// Whether the filter matches every document.
    pub fn is_empty(&self) -> bool {
        self.clauses.is_empty()
    }
}

/// An inverted index of the documents' metadata. Sets are copied on write, so readers keep a consistent state.
#[derive(Debug, Default)]
pub struct MetadataIndex {
    documents: HashMap<String, HashMap<String, Arc<RoaringTreemap>>>,
}

/// The document sets that answer a filter, as of one moment: for each key, the documents with each of its values.
#[derive(Debug, Clone)]
pub struct Candidates {
    clauses: Vec<Vec<Arc<RoaringTreemap>>>,
}

impl Candidates {
    /// Returns the documents that match. The filter must not be empty.
    pub fn matching(&self) -> RoaringTreemap {
        let any_of = |values: &Vec<Arc<RoaringTreemap>>| {
            let mut values = values.iter();
            let first = values.next().map(|numbers| (**numbers).clone()).unwrap_or_default();
            values.fold(first, |all, numbers| all | &**numbers)
        };
        let mut clauses = self.clauses.iter().map(any_of);
        let first = clauses.next().unwrap_or_default();
        clauses.fold(first, |left, right| left & right)
    }
}

impl MetadataIndex {
    /// Adds a document.
    pub fn insert(&mut self, number: u64, metadata: &Metadata) {
        for (key, value) in pairs(metadata) {
            let numbers = self.documents.entry(key.to_owned()).or_default().entry(value).or_default();
            Arc::make_mut(numbers).insert(number);
        }
    }

    /// Removes a document that was added with this metadata.
    pub fn remove(&mut self, number: u64, metadata: &Metadata) {
        for (key, value) in pairs(metadata) {
            let Some(values) = self.documents.get_mut(key) else { continue };
            if let Some(numbers) = values.get_mut(&value) {
                Arc::make_mut(numbers).remove(number);
                if numbers.is_empty() {
                    values.remove(&value);
                }
            }
            if values.is_empty() {
                self.documents.remove(key);
            }
        }
    }

    /// Returns the document sets that answer a filter.
    pub fn candidates(&self, filter: &Filter) -> Candidates {
        let any_of = |(key, values): &(String, Vec<String>)| {
            let known = self.documents.get(key);
            values.iter().filter_map(|value| known?.get(value).cloned()).collect()
        };
        Candidates { clauses: filter.clauses.iter().map(any_of).collect() }
    }
}

/// The keys and values under which a document is found: each value, and each element of a list.
fn pairs(metadata: &Metadata) -> impl Iterator<Item = (&str, String)> {
    metadata.iter().flat_map(|(key, value)| {
        let elements = value.as_array().into_iter().flatten();
        elements.chain([value]).map(|value| (key.as_str(), canonical(value)))
    })
}

/// A text that is the same for equal values: 1 and 1.0 are equal, and the order of an object's keys does not matter.
fn canonical(value: &Value) -> String {
    match value {
        Value::Number(number) if number.is_f64() => {
            number.as_f64().map_or_else(|| number.to_string(), |float| float.to_string())
        }
        Value::Object(_) | Value::Array(_) => sorted(value).to_string(),
        other => other.to_string(),
    }
}

fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let in_order: BTreeMap<&String, Value> = fields.iter().map(|(key, value)| (key, sorted(value))).collect();
            in_order.into_iter().map(|(key, value)| (key.clone(), value)).collect()
        }
        Value::Array(items) => items.iter().map(sorted).collect(),
        other => Value::from(canonical(other)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(value: Value) -> Metadata {
        value.as_object().unwrap().clone()
    }

    fn index() -> MetadataIndex {
        let mut index = MetadataIndex::default();
        index.insert(1, &object(json!({"team": "a", "year": 2024, "tags": ["x", "y"]})));
        index.insert(2, &object(json!({"team": "b", "year": 2024.0, "open": true})));
        index.insert(3, &object(json!({"team": "a", "nested": {"k": 1, "l": [2.0]}, "none": null})));
        index.insert(4, &object(json!({"id": 1_234_567_890_123_456_789_u64})));
        index.insert(5, &object(json!({"id": 1_234_567_890_123_456_788_u64})));
        index
    }

    fn matching(index: &MetadataIndex, filter: Value) -> Vec<u64> {
        index.candidates(&Filter::new(&object(filter)).unwrap()).matching().iter().collect()
    }

    #[test]
    fn every_key_must_match() {
        let index = index();
        for (filter, expected) in [
            (json!({"team": "a"}), vec![1, 3]),
            (json!({"team": "a", "year": 2024}), vec![1]),
            (json!({"year": 2024}), vec![1, 2]),
            (json!({"tags": "y"}), vec![1]),
            (json!({"team": ["a", "b"]}), vec![1, 2, 3]),
            (json!({"open": true}), vec![2]),
            (json!({"open": "true"}), vec![]),
            (json!({"nested": {"l": [2], "k": 1}}), vec![3]),
            (json!({"nested": {"k": 1}}), vec![]),
            (json!({"id": 1_234_567_890_123_456_789_u64}), vec![4]),
            (json!({"none": null}), vec![3]),
            (json!({"team": []}), vec![]),
            (json!({"absent": 1}), vec![]),
            (json!({"team": "a", "absent": 1}), vec![]),
        ] {
            assert_eq!(matching(&index, filter.clone()), expected, "{filter}");
        }
    }

    #[test]
    fn a_removed_document_leaves_nothing_behind() {
        let mut index = index();
        index.remove(1, &object(json!({"team": "a", "year": 2024, "tags": ["x", "y"]})));
        assert_eq!(matching(&index, json!({"team": "a"})), [3]);
        assert_eq!(matching(&index, json!({"tags": "x"})), Vec::<u64>::new());
        index.remove(2, &object(json!({"team": "b", "year": 2024.0, "open": true})));
        index.remove(3, &object(json!({"team": "a", "nested": {"k": 1, "l": [2.0]}, "none": null})));
        index.remove(4, &object(json!({"id": 1_234_567_890_123_456_789_u64})));
        index.remove(5, &object(json!({"id": 1_234_567_890_123_456_788_u64})));
        assert!(index.documents.is_empty());
    }

    #[test]
    fn a_readers_sets_do_not_change() {
        let mut index = index();
        let before = index.candidates(&Filter::new(&object(json!({"team": "a"}))).unwrap());
        index.insert(9, &object(json!({"team": "a"})));
        index.remove(1, &object(json!({"team": "a", "year": 2024, "tags": ["x", "y"]})));
        assert_eq!(before.matching().iter().collect::<Vec<_>>(), [1, 3]);
        assert_eq!(matching(&index, json!({"team": "a"})), [3, 9]);
    }

    #[test]
    fn invalid_filters_are_rejected() {
        for text in ["", "{", "[]", "1", "\"a\"", "{} {}"] {
            assert_eq!(Filter::parse(text), Err(FilterError::NotAnObject), "{text}");
        }
        assert!(Filter::parse("{}").unwrap().is_empty());
        let long = json!({"a": vec![1; MAX_VALUES + 1]}).to_string();
        assert_eq!(Filter::parse(&long), Err(FilterError::TooLong));
    }
}

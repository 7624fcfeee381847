//! Finds the documents that match a metadata filter.

// With its path, because a fuzz target includes this file from elsewhere.
#[path = "filter/values.rs"]
mod values;

use std::collections::HashMap;
use std::sync::Arc;

use ragengine_client::wire::Metadata;
use ragengine_pipeline::filter::{Condition, Filter, MetadataValue};
use roaring::RoaringTreemap;

use values::{Values, Within};

/// An inverted index of the documents' metadata. Sets are copied on write, so readers keep a consistent state.
#[derive(Debug, Default)]
pub struct MetadataIndex {
    keys: HashMap<String, Postings>,
    /// All documents.
    documents: Arc<RoaringTreemap>,
}

/// The documents that have a key, and those that have each value of it.
#[derive(Debug, Default)]
struct Postings {
    documents: Arc<RoaringTreemap>,
    values: Values,
}

/// The document sets that answer a filter, as of one moment.
#[derive(Debug, Clone)]
pub struct Candidates(Sets);

#[derive(Debug, Clone)]
enum Sets {
    All(Vec<Sets>),
    Any(Vec<Sets>),
    /// The documents that are not in these sets.
    Not(Box<Sets>, Arc<RoaringTreemap>),
    /// The documents that are in one of these sets.
    Union(Vec<Arc<RoaringTreemap>>),
    /// The documents that have a value of a range.
    Within(Within),
    Everything(Arc<RoaringTreemap>),
}

impl Candidates {
    /// Returns the documents that match.
    pub fn matching(&self) -> RoaringTreemap {
        self.0.matching()
    }
}

impl Sets {
    fn matching(&self) -> RoaringTreemap {
        match self {
            Self::Everything(all) => (**all).clone(),
            Self::Union(sets) => union(sets.iter()),
            Self::Within(within) => union(within.documents()),
            Self::Not(sets, all) => &**all - sets.matching(),
            Self::Any(sets) => sets.iter().map(Self::matching).fold(RoaringTreemap::new(), |all, set| all | set),
            Self::All(sets) => {
                let mut sets = sets.iter().map(Self::matching);
                let first = sets.next().unwrap_or_default();
                sets.fold(first, |all, set| all & set)
            }
        }
    }
}

/// The union of many sets. Most have one document when the values are ids or times, so those are sorted first.
fn union<'a>(sets: impl Iterator<Item = &'a Arc<RoaringTreemap>>) -> RoaringTreemap {
    let (single, large): (Vec<_>, Vec<_>) = sets.partition(|set| set.len() == 1);
    let mut numbers: Vec<u64> = single.into_iter().filter_map(|set| set.min()).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let all = RoaringTreemap::from_sorted_iter(numbers).unwrap_or_default();
    large.into_iter().fold(all, |all, set| all | &**set)
}

impl MetadataIndex {
    /// Adds a document.
    pub fn insert(&mut self, number: u64, metadata: &Metadata) {
        Arc::make_mut(&mut self.documents).insert(number);
        for (key, value) in metadata {
            let postings = self.keys.entry(key.clone()).or_default();
            Arc::make_mut(&mut postings.documents).insert(number);
            for value in values(value) {
                postings.values.insert(value, number);
            }
        }
    }

    /// Removes a document that was added with this metadata.
    pub fn remove(&mut self, number: u64, metadata: &Metadata) {
        Arc::make_mut(&mut self.documents).remove(number);
        for (key, value) in metadata {
            let Some(postings) = self.keys.get_mut(key) else { continue };
            Arc::make_mut(&mut postings.documents).remove(number);
            for value in values(value) {
                postings.values.remove(&value, number);
            }
            if postings.documents.is_empty() {
                self.keys.remove(key);
            }
        }
    }

    /// Returns the document sets that answer a filter.
    pub fn candidates(&self, filter: &Filter) -> Candidates {
        let everything = || Sets::Everything(Arc::clone(&self.documents));
        Candidates(filter.condition().map_or_else(everything, |condition| self.sets(condition)))
    }

    fn sets(&self, condition: &Condition) -> Sets {
        match condition {
            Condition::All(conditions) if conditions.is_empty() => Sets::Everything(Arc::clone(&self.documents)),
            Condition::All(conditions) => Sets::All(conditions.iter().map(|each| self.sets(each)).collect()),
            Condition::Any(conditions) => Sets::Any(conditions.iter().map(|each| self.sets(each)).collect()),
            Condition::Not(condition) => Sets::Not(Box::new(self.sets(condition)), Arc::clone(&self.documents)),
            Condition::Exists(key) => {
                Sets::Union(self.keys.get(key).map(|postings| Arc::clone(&postings.documents)).into_iter().collect())
            }
            Condition::In(key, values) => {
                let postings = self.keys.get(key);
                Sets::Union(values.iter().filter_map(|value| postings?.values.get(value).cloned()).collect())
            }
            Condition::Within(key, bounds) => match self.keys.get(key) {
                Some(postings) => Sets::Within(postings.values.within(bounds)),
                None => Sets::Union(Vec::new()),
            },
        }
    }
}

/// The values under which a document is found: its value, and each element of a list.
fn values(value: &serde_json::Value) -> impl Iterator<Item = MetadataValue> {
    let elements = value.as_array().into_iter().flatten();
    elements.chain([value]).flat_map(MetadataValue::all_of)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

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
    fn operators_compare_values_of_one_type() {
        let mut index = MetadataIndex::default();
        let documents = [
            json!({"priority": 7, "category": "abo_policies", "date": "2026-01-31"}),
            json!({"priority": 6.5, "category": ["a", "b"], "date": "2026-02-01T01:00:00+02:00"}),
            json!({"priority": "9", "open": false, "date": "2026-02-01T00:00:00Z"}),
            json!({"priority": null, "date": "soon"}),
            json!({}),
            json!({"priority": [1, 8], "date": 2026}),
        ];
        documents.into_iter().zip(1..).for_each(|(metadata, number)| index.insert(number, &object(metadata)));
        for (filter, expected) in [
            (json!({"priority": {"$gte": 7}}), vec![1, 6]),
            (json!({"priority": {"$gt": 6.5, "$lt": 7.5}}), vec![1, 6]),
            (json!({"priority": {"$lt": 7}}), vec![2, 6]),
            (json!({"priority": {"$lte": "9"}}), vec![3]),
            (json!({"priority": {"$eq": 7.0}}), vec![1]),
            (json!({"priority": {"$ne": 7}}), vec![2, 3, 4, 5, 6]),
            (json!({"priority": {"$in": [7, "9", null]}}), vec![1, 3, 4]),
            (json!({"priority": {"$nin": [7, 8]}}), vec![2, 3, 4, 5]),
            (json!({"priority": {"$exists": true}}), vec![1, 2, 3, 4, 6]),
            (json!({"priority": {"$exists": false}}), vec![5]),
            (json!({"category": {"$in": ["b", "c"]}}), vec![2]),
            (json!({"category": {"$gt": "a"}}), vec![1, 2]),
            (json!({"open": {"$eq": false}}), vec![3]),
            // 2026-02-01T01:00+02:00 is still January in UTC.
            (json!({"date": {"$lt": "2026-02-01"}}), vec![1, 2]),
            (json!({"date": {"$gte": "2026-01-31T23:00:00Z"}}), vec![2, 3]),
            (json!({"date": {"$eq": "2026-01-31T23:00:00Z"}}), vec![2]),
            (json!({"date": "2026-02-01"}), vec![]),
            (json!({"date": {"$gt": "a"}}), vec![4]),
            (json!({"$or": [{"priority": 7}, {"open": false}]}), vec![1, 3]),
            (
                json!({"$and": [{"priority": {"$exists": true}}, {"open": {"$exists": false}}], "category": "a"}),
                vec![2],
            ),
            (json!({"$not": {"priority": {"$exists": true}}}), vec![5]),
            (json!({"$not": {}}), vec![]),
            (json!({"category": {"$in": ["abo_policies"]}, "priority": {"$gte": 7}}), vec![1]),
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
        assert!(index.keys.is_empty() && index.documents.is_empty());
    }

    #[test]
    fn a_readers_sets_do_not_change() {
        let mut index = index();
        let filters = [json!({"team": "a"}), json!({"team": {"$lt": "b"}})];
        let before = filters.clone().map(|filter| index.candidates(&Filter::new(&object(filter)).unwrap()));
        index.insert(9, &object(json!({"team": "a"})));
        index.remove(1, &object(json!({"team": "a", "year": 2024, "tags": ["x", "y"]})));
        for (filter, before) in filters.into_iter().zip(before) {
            assert_eq!(before.matching().iter().collect::<Vec<_>>(), [1, 3], "{filter}");
            assert_eq!(matching(&index, filter.clone()), [3, 9], "{filter}");
        }
    }
}

//! Filters on tokens find the documents that filters on metadata find, without a database.

use std::ops::Bound;

use proptest::prelude::*;
use ragengine_pipeline::filter::MetadataValue;
use serde_json::{Map, Value, json};

use super::*;

const BOTH: [Comparisons; 2] = [Comparisons::Patterns, Comparisons::Prefixes];

fn searchable(metadata: &Value, comparisons: Comparisons) -> Searchable {
    of_metadata("d", metadata.as_object().unwrap(), None, comparisons).unwrap()
}

fn filter(filter: &Value) -> Filter {
    Filter::new(filter.as_object().unwrap()).unwrap()
}

/// What the database answers.
fn matches(predicate: &Predicate, object: &Searchable) -> bool {
    match predicate {
        Predicate::Everything => true,
        Predicate::Nothing => false,
        Predicate::All(conditions) => conditions.iter().all(|each| matches(each, object)),
        Predicate::Any(conditions) => conditions.iter().any(|each| matches(each, object)),
        Predicate::Not(condition) => !matches(condition, object),
        Predicate::In(property, values) => {
            let has = if *property == Property::RANGES { &object.ranges } else { &object.tokens };
            values.iter().any(|value| has.contains(value))
        }
        Predicate::Like(_, pattern) => object.ranges.iter().any(|range| is_like(range, pattern)),
        Predicate::Above(..) => panic!("no filter compares numbers"),
    }
}

fn is_like(text: &str, pattern: &str) -> bool {
    let begin = pattern.strip_suffix('*').unwrap();
    text.len() >= begin.len() && text.bytes().zip(begin.bytes()).all(|(left, right)| right == b'?' || left == right)
}

/// What the language means.
fn holds(condition: &Condition, metadata: &Map<String, Value>) -> bool {
    let values = |key: &str| {
        let value = metadata.get(key);
        let elements = value.and_then(Value::as_array).into_iter().flatten();
        elements.chain(value).flat_map(MetadataValue::all_of).collect::<Vec<_>>()
    };
    match condition {
        Condition::All(conditions) => conditions.iter().all(|each| holds(each, metadata)),
        Condition::Any(conditions) => conditions.iter().any(|each| holds(each, metadata)),
        Condition::Not(condition) => !holds(condition, metadata),
        Condition::Exists(key) => metadata.contains_key(key),
        Condition::In(key, wanted) => values(key).iter().any(|value| wanted.contains(value)),
        Condition::Within(key, bounds) => values(key).iter().any(|value| is_within(value, bounds)),
    }
}

fn is_within(value: &MetadataValue, (low, high): &(Bound<MetadataValue>, Bound<MetadataValue>)) -> bool {
    use std::ops::RangeBounds as _;
    (low.clone(), high.clone()).contains(value)
}

fn leaves() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3..4_i8).prop_map(Value::from),
        (-3..4_i8).prop_map(|number| json!(f64::from(number) / 2.0)),
        ((1_u64 << 62) - 2..(1 << 62) + 2).prop_map(Value::from),
        "[ab]{0,2}".prop_map(Value::from),
        ("[ab]{30}[ab]{0,4}").prop_map(Value::from),
        (1..4_u8).prop_map(|day| json!(format!("2026-01-0{day}"))),
        (0..3_u8).prop_map(|hour| json!(format!("2026-01-02T0{hour}:00:00+02:00"))),
        Just(json!({"k": 1.0})),
    ]
}

fn metadata() -> impl Strategy<Value = Value> {
    let value = prop_oneof![leaves(), proptest::collection::vec(leaves(), 0..3).prop_map(Value::from)];
    proptest::collection::btree_map("[xy]", value, 0..3).prop_map(|fields| json!(fields))
}

fn filters() -> impl Strategy<Value = Value> {
    let on_key = ("[xy]", 0..8_u8, leaves(), proptest::collection::vec(leaves(), 0..3)).prop_map(
        |(key, operator, value, list)| match operator {
            0 => json!({key: value}),
            1 => json!({key: list}),
            2 => json!({key: {"$nin": list}}),
            3 => json!({key: {"$exists": true}}),
            name => json!({key: {["$gt", "$gte", "$lt", "$lte"][usize::from(name - 4)]: value}}),
        },
    );
    let both = |inner: BoxedStrategy<Value>| proptest::collection::vec(inner, 1..3);
    on_key.boxed().prop_recursive(3, 8, 2, move |inner| {
        prop_oneof![
            both(inner.clone()).prop_map(|filters| json!({"$and": filters})),
            both(inner.clone()).prop_map(|filters| json!({"$or": filters})),
            inner.prop_map(|filter| json!({"$not": filter})),
            Just(json!({"$not": {}})),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn every_filter_is_exact(metadata in metadata(), wanted in filters()) {
        let Ok(filter) = Filter::new(wanted.as_object().unwrap()) else { return Ok(()) };
        let expected = filter.condition().is_none_or(|condition| holds(condition, metadata.as_object().unwrap()));
        for comparisons in BOTH {
            let predicate = match predicate(&filter, comparisons) {
                Err(VectorDatabaseError::LongComparison { .. }) => return Ok(()),
                other => other.unwrap(),
            };
            let found = matches(&predicate, &searchable(&metadata, comparisons));
            prop_assert_eq!(found, expected, "{} {} {:?}", wanted, metadata, comparisons);
        }
    }

    #[test]
    fn both_bounds_hold_for_one_value(low in -3..4_i8, high in -3..4_i8, value in -3..4_i8, ends in 0..4_u8) {
        let value_of = |number: i8| MetadataValue::typed(&json!(number));
        let bound = |number, is_included| {
            if is_included { Bound::Included(value_of(number)) } else { Bound::Excluded(value_of(number)) }
        };
        let bounds = (bound(low, ends & 1 > 0), bound(high, ends & 2 > 0));
        let expected = is_within(&value_of(value), &bounds);
        for comparisons in BOTH {
            let predicate = comparisons.within("x", &bounds).unwrap();
            prop_assert_eq!(matches(&predicate, &searchable(&json!({"x": value}), comparisons)), expected);
            let around = searchable(&json!({"x": [-9, 9]}), comparisons);
            prop_assert!(!matches(&predicate, &around));
        }
    }
}

#[test]
fn what_is_not_possible_is_an_error() {
    let long = "x".repeat(digits::MAX_TEXT_BYTES + 1);
    let text = "y".repeat(digits::MAX_TEXT_BYTES);
    for comparisons in BOTH {
        let error = predicate(&filter(&json!({"k": {"$gt": long}})), comparisons).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the metadata filter compares 'k' with a text of 33 bytes: the vector database compares at most 32"
        );
        assert!(predicate(&filter(&json!({"k": long})), comparisons).is_ok(), "equality has no bound");
        let low = "\u{1}".repeat(digits::MAX_TEXT_BYTES);
        let many: Vec<Value> = (0..16).map(|_| json!({"k": {"$gt": low}})).collect();
        assert_eq!(predicate(&filter(&json!({"$or": many})), comparisons).unwrap_err().kind(), "many_conditions");
        let values = json!({"k": vec![1; MAX_VALUES + 1]});
        let error = of_metadata("d", values.as_object().unwrap(), None, comparisons).unwrap_err();
        assert_eq!(error.kind(), "many_values");
    }
    let texts: Vec<String> = (0..MAX_VALUES).map(|number| format!("{number} {text}")).collect();
    let values = json!({"k": texts});
    let of_values = |comparisons| of_metadata("d", values.as_object().unwrap(), None, comparisons);
    assert!(of_values(Comparisons::Patterns).is_ok());
    assert_eq!(of_values(Comparisons::Prefixes).unwrap_err().kind(), "long_values");
}

#[test]
fn a_comparison_is_few_conditions() {
    for (value, patterns, hashes) in
        [(json!(7), 38, 286), (json!(-0.1), 39, 286), (json!("2026-01-01"), 36, 271), (json!("policy"), 32, 240)]
    {
        let asked = |comparisons| predicate(&filter(&json!({"k": {"$gte": value}})), comparisons).unwrap().asked();
        let (of_patterns, of_hashes) = (asked(Comparisons::Patterns), asked(Comparisons::Prefixes));
        assert!(of_patterns <= patterns && of_hashes <= hashes, "{value}: {of_patterns} {of_hashes}");
    }
}

#[test]
fn a_source_is_no_metadata() {
    for comparisons in BOTH {
        let source = of_metadata("d", &Map::new(), Some("s"), comparisons).unwrap();
        assert!(source.tokens.contains(&of_source("s")));
        assert!(!searchable(&json!({"source": "s"}), comparisons).tokens.contains(&of_source("s")));
    }
}

use std::ops::RangeBounds as _;

use Condition::{All, Any, Exists, In, Not, Within};
use serde_json::json;

use super::*;

fn filter(filter: &Value) -> Filter {
    Filter::new(filter.as_object().unwrap()).unwrap()
}

fn error(filter: &Value) -> FilterError {
    Filter::new(filter.as_object().unwrap()).unwrap_err()
}

/// That `a` has one of these values.
fn a_in<const N: usize>(values: [Value; N]) -> Condition {
    In("a".to_owned(), values.iter().map(MetadataValue::exact).collect())
}

fn not(condition: Condition) -> Condition {
    Not(Box::new(condition))
}

#[test]
fn operators_are_conditions_on_their_key() {
    let two = || MetadataValue::exact(&json!(2));
    let (first, last) = two().bounds_of_type().unwrap();
    let exists = || Exists("a".to_owned());
    let within = |from: &Bound<_>, to: &Bound<_>| Within("a".to_owned(), (from.clone(), to.clone()));
    for (operator, operand, expected) in [
        ("$eq", json!(2), a_in([json!(2)])),
        ("$ne", json!(2), not(a_in([json!(2)]))),
        ("$in", json!([2, "b"]), a_in([json!(2), json!("b")])),
        ("$nin", json!([2, "b"]), not(a_in([json!(2), json!("b")]))),
        ("$exists", json!(true), exists()),
        ("$exists", json!(false), not(exists())),
        ("$gt", json!(2), within(&Bound::Excluded(two()), &last)),
        ("$gte", json!(2), within(&Bound::Included(two()), &last)),
        ("$lt", json!(2), within(&first, &Bound::Excluded(two()))),
        ("$lte", json!(2), within(&first, &Bound::Included(two()))),
    ] {
        let given = json!({"a": {operator: operand}});
        assert_eq!(filter(&given).condition(), Some(&All(vec![All(vec![expected])])), "{given}");
    }
}

#[test]
fn filters_are_combined_and_plain_values_are_equal_or_in_a_list() {
    let a_is_2 = || All(vec![a_in([json!(2)])]);
    for (given, expected) in [
        (json!({"a": {"b": 2}}), a_in([json!({"b": 2})])),
        (json!({"a": [2, "2026-11-25"]}), a_in([json!(2), json!("2026-11-25")])),
        (json!({"$and": [{"a": 2}, {"a": 2}]}), All(vec![a_is_2(), a_is_2()])),
        (json!({"$or": [{"a": 2}, {"a": 2}]}), Any(vec![a_is_2(), a_is_2()])),
        (json!({"$not": {"a": 2}}), not(a_is_2())),
    ] {
        let read = filter(&given);
        assert!(!read.is_empty(), "{given}");
        assert_eq!(read.condition(), Some(&All(vec![expected])), "{given}");
    }
    assert!(Filter::default().is_empty());
    assert_eq!(Filter::default().condition(), None);
}

#[test]
fn comparisons_stay_within_the_type_of_their_value() {
    let typed = |value: Value| MetadataValue::typed(&value);
    let values = [
        json!(null),
        json!(true),
        json!(-1.5),
        json!(u64::MAX),
        json!("1900-01-01"),
        json!("2026-11-25T09:00:00Z"),
        json!(""),
        json!("z"),
        json!({}),
        json!([1]),
    ];
    for (value, same) in [(json!(1), 2..4), (json!("2026-11-25"), 4..6), (json!("a"), 6..8)] {
        let bounds = typed(value.clone()).bounds_of_type().unwrap();
        let is_within = |other: &Value| bounds.contains(&typed(other.clone()));
        let found: Vec<usize> = (0..values.len()).filter(|place| is_within(&values[*place])).collect();
        assert_eq!(found, same.collect::<Vec<_>>(), "{value}");
    }
}

#[test]
fn the_log_has_no_keys_of_a_filter() {
    assert_eq!(error(&json!({"private": {"$exists": 1}})).own_words(), "metadata_filter: needs true or false");
    assert_eq!(FilterError::TooLong.own_words(), "the metadata filter has more than 1000 values");
}

#[test]
fn the_keys_and_texts_of_a_filter_have_a_size() {
    assert_eq!(Filter::default().text_bytes(), 0);
    for (given, bytes) in [
        (json!({"key": 1}), "key".len()),
        (json!({"key": ["text", null, "more"]}), "keytextmore".len()),
        (json!({"key": {"of": 1}}), r#"key{"of":"1"}"#.len()),
        (json!({"$or": [{"key": {"$exists": true}}, {"$not": {"other": {"$eq": "text"}}}]}), "keyothertext".len()),
        (json!({"key": {"$gte": "from", "$lt": "to"}}), "keyfromkeyto".len()),
        (json!({"key": {"$gt": "2026-11-25"}}), "key".len()),
    ] {
        assert_eq!(filter(&given).text_bytes(), bytes, "{given}");
    }
}

#[test]
fn a_malformed_filter_says_where() {
    for (filter, expected) in [
        (json!({"$or": {}}), "metadata_filter.$or: needs a list of at least one filter"),
        (json!({"$or": []}), "metadata_filter.$or: needs a list of at least one filter"),
        (json!({"$and": [{"a": 1}, 2]}), "metadata_filter.$and[1]: must be a filter, which is an object"),
        (json!({"$not": []}), "metadata_filter.$not: $not needs a filter, which is an object"),
        (
            json!({"$gt": 1}),
            "metadata_filter.$gt: only $and, $or and $not can stand here; other operators stand in an object below a key",
        ),
        (
            json!({"$or": [{"year": {"$gte": 1, "$most": 2}}]}),
            "metadata_filter.$or[0].year.$most: is not an operator: use $eq, $ne, $in, $nin, $gt, $gte, $lt, $lte or \
             $exists",
        ),
        (
            json!({"year": {"$gt": 1, "plain": 2}}),
            "metadata_filter.year.plain: is not an operator: use $eq, $ne, $in, $nin, $gt, $gte, $lt, $lte or $exists",
        ),
        (json!({"year": {"$gt": true}}), "metadata_filter.year.$gt: needs a number, a date or a text"),
        (json!({"year": {"$gt": [1]}}), "metadata_filter.year.$gt: needs a number, a date or a text"),
        (json!({"year": {"$in": 1}}), "metadata_filter.year.$in: needs a list of values"),
        (json!({"year": {"$exists": 1}}), "metadata_filter.year.$exists: needs true or false"),
        (json!({"year": {"$eq": {"$gt": 1}}}), "metadata_filter.year.$eq: needs a value, not an operator"),
        (
            json!({"year": [1, {"$gt": 1}]}),
            "metadata_filter.year[1]: must be a value; operators cannot stand in a list",
        ),
    ] {
        assert_eq!(error(&filter).to_string(), expected, "{filter}");
    }
}

#[test]
fn a_filter_is_bounded() {
    for text in ["", "{", "[]", "1", "\"a\"", "{} {}"] {
        assert_eq!(Filter::parse(text), Err(FilterError::NotAnObject), "{text}");
    }
    let repeated = r#"{"year": {"$gte": 2020}, "year": {"$lte": 2021}}"#;
    assert_eq!(Filter::parse(repeated), Err(FilterError::RepeatedKey));
    assert!(Filter::parse("{}").unwrap().is_empty());
    assert!(!filter(&json!({"a": vec![1; MAX_VALUES]})).is_empty());
    let long = json!({"a": vec![1; MAX_VALUES + 1]}).to_string();
    assert_eq!(Filter::parse(&long), Err(FilterError::TooLong));
    let twice = json!({"a": {"$in": vec![1; MAX_VALUES / 2]}, "b": {"$nin": vec![1; MAX_VALUES / 2 + 1]}});
    assert_eq!(Filter::new(twice.as_object().unwrap()), Err(FilterError::TooLong));
    let ranges = |count| json!({"$or": vec![json!({"a": {"$gt": 1}}); count]});
    assert!(Filter::new(ranges(MAX_RANGES).as_object().unwrap()).is_ok());
    assert_eq!(Filter::new(ranges(MAX_RANGES + 1).as_object().unwrap()), Err(FilterError::ManyRanges));
    let deep = |depth| (0..depth).fold(json!({"a": 1}), |inner, _| json!({"$not": inner}));
    assert!(Filter::new(deep(MAX_DEPTH).as_object().unwrap()).is_ok());
    assert_eq!(Filter::new(deep(MAX_DEPTH + 1).as_object().unwrap()), Err(FilterError::TooDeep));
}

#[test]
fn filters_are_joined_by_and() {
    let (left, right) = (filter(&json!({"a": 1})), filter(&json!({"b": {"$gt": 2}})));
    assert_eq!(left.clone().and(Filter::default()), left);
    assert_eq!(Filter::default().and(right.clone()), right);
    let Some(All(both)) = left.clone().and(right.clone()).0 else { panic!("not joined") };
    assert_eq!(both, [left.0.unwrap(), right.0.unwrap()]);
}

#[test]
fn numbers_compare_exactly() {
    let number = |value: Value| MetadataValue::exact(&value);
    assert_eq!(number(json!(1)), number(json!(1.0)));
    assert_eq!(number(json!(0)), number(json!(-0.0)));
    let large = 1_234_567_890_123_456_788_u64;
    assert!(number(json!(large)) < number(json!(large + 1)));
    assert!(number(json!(u64::MAX - 1)) < number(json!(u64::MAX)));
    assert!(number(json!(u64::MAX)) < number(json!(f64::MAX)));
    assert!(number(json!(i64::MIN)) < number(json!(-1.5)));
}

#[test]
fn dates_are_instants() {
    let instant = |text: &str| MetadataValue::typed(&json!(text));
    for (text, same) in [
        ("2026-11-25", "2026-11-25T00:00:00Z"),
        ("2026-11-25T09:00:00+01:00", "2026-11-25T08:00:00Z"),
        ("2026-11-25T08:00:00", "2026-11-25T08:00:00.000Z"),
        ("2026-11-25 08:00", "2026-11-25T08:00:00Z"),
    ] {
        assert!(matches!(instant(text), MetadataValue::Instant(_)), "{text}");
        assert_eq!(instant(text), instant(same), "{text}");
    }
    for text in [
        "2026",
        "2026-13-01",
        "2026-11",
        "25.11.2026",
        "2026-11-25 and later",
        "",
        "2026-11-25T08:00:00Z[UTC]",
        "20261125",
        "-026-11-25",
    ] {
        assert_eq!(instant(text), MetadataValue::Text(text.to_owned()));
    }
    let all = |text: &str| MetadataValue::all_of(&json!(text)).collect::<Vec<_>>();
    let as_written = MetadataValue::Text("2026-11-25".to_owned());
    assert_eq!(all("2026-11-25"), [as_written, instant("2026-11-25")]);
    assert_eq!(all("soon"), [MetadataValue::Text("soon".to_owned())]);
}

#[test]
fn equal_objects_and_lists_are_the_same_value() {
    let value = |value: Value| MetadataValue::exact(&value);
    assert_eq!(
        value(json!({"a": [1, {"c": 2, "b": null}], "d": "e"})),
        value(json!({"d": "e", "a": [1.0, {"b": null, "c": 2}]}))
    );
    for (one, other) in [
        (json!(1), json!(2)),
        (json!([u64::MAX]), json!([u64::MAX - 1])),
        (json!([1]), json!([2])),
        (json!([1]), json!(["1"])),
        (json!([1.5]), json!(["1.5"])),
        (json!({"a": 1}), json!({"b": 1})),
    ] {
        assert_ne!(value(one), value(other));
    }
}

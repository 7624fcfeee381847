use serde_json::json;

use super::*;

fn error(filter: &Value) -> String {
    Filter::new(filter.as_object().unwrap()).unwrap_err().to_string()
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
        assert_eq!(error(&filter), expected, "{filter}");
    }
}

#[test]
fn a_filter_is_bounded() {
    for text in ["", "{", "[]", "1", "\"a\"", "{} {}"] {
        assert_eq!(Filter::parse(text), Err(FilterError::NotAnObject), "{text}");
    }
    assert!(Filter::parse("{}").unwrap().is_empty());
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
    let filter = |value: Value| Filter::new(value.as_object().unwrap()).unwrap();
    let (left, right) = (filter(json!({"a": 1})), filter(json!({"b": {"$gt": 2}})));
    assert_eq!(left.clone().and(Filter::default()), left);
    assert_eq!(Filter::default().and(right.clone()), right);
    let Some(Condition::All(both)) = left.clone().and(right.clone()).0 else { panic!("not joined") };
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
    for text in ["2026", "2026-13-01", "2026-11", "25.11.2026", "2026-11-25 and later", "", "2026-11-25[UTC]"] {
        assert_eq!(instant(text), MetadataValue::Text(text.to_owned()));
    }
}

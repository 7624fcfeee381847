//! Conditions as Qdrant's filters.

use qdrant_client::qdrant::{Condition, Filter, PointId, Range};
use uuid::Uuid;

use crate::predicate::Predicate;
use crate::property::Property;

/// The filter that a condition is. None for everything. Nothing must not be asked for.
pub fn filter(predicate: &Predicate) -> Option<Filter> {
    Some(match predicate {
        Predicate::Everything => return None,
        Predicate::All(conditions) => Filter::must(conditions.iter().map(condition)),
        Predicate::Any(conditions) => Filter::should(conditions.iter().map(condition)),
        Predicate::Not(inner) => Filter::must_not([condition(inner)]),
        leaf => Filter::must([condition(leaf)]),
    })
}

fn condition(predicate: &Predicate) -> Condition {
    match predicate {
        Predicate::In(property, values) if *property == Property::ID => {
            Condition::has_id(values.iter().filter_map(|value| value.parse().ok()).map(point_id))
        }
        Predicate::In(property, values) => Condition::matches(property.name(), values.clone()),
        Predicate::Above(property, number) => {
            Condition::range(property.name(), Range { gt: Some(*number), ..Range::default() })
        }
        // Filters for Qdrant have no patterns, and constants are only alone: neither finds anything.
        Predicate::Nothing | Predicate::Like(..) => Condition::has_id(Vec::<PointId>::new()),
        Predicate::Everything => Condition::from(Filter::default()),
        inner => Condition::from(filter(inner).unwrap_or_default()),
    }
}

/// The id of a point.
pub fn point_id(id: Uuid) -> PointId {
    PointId::from(id.to_string())
}

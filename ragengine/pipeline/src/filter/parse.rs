//! Reads a filter from JSON. An error has the place of what is wrong.

use std::ops::Bound;

use serde_json::{Map, Value};

use super::{Condition, FilterError, MAX_DEPTH, MAX_RANGES, MAX_VALUES, MetadataValue};

/// Reads a filter.
///
/// # Errors
///
/// [`FilterError`], but not [`FilterError::NotAnObject`].
pub(super) fn filter(object: &Map<String, Value>) -> Result<Condition, FilterError> {
    let mut reader = Reader::default();
    reader.object(object, &Place::Root)
}

/// A place in the filter, as a list from the inside out.
enum Place<'a> {
    Root,
    Key(&'a Place<'a>, &'a str),
    Item(&'a Place<'a>, usize),
}

impl Place<'_> {
    fn error<T>(&self, problem: &'static str) -> Result<T, FilterError> {
        let mut place = String::new();
        self.write(&mut place);
        Err(FilterError::Malformed { place, problem })
    }

    fn write(&self, text: &mut String) {
        match self {
            Self::Root => {}
            Self::Key(parent, key) => {
                parent.write(text);
                text.push('.');
                text.extend(key.chars().take(100));
            }
            Self::Item(parent, position) => {
                parent.write(text);
                text.extend(["[", &position.to_string(), "]"]);
            }
        }
    }

    fn depth(&self) -> usize {
        match self {
            Self::Root => 0,
            Self::Key(parent, _) | Self::Item(parent, _) => parent.depth() + 1,
        }
    }
}

#[derive(Default)]
struct Reader {
    values: usize,
    ranges: usize,
}

impl Reader {
    fn object(&mut self, object: &Map<String, Value>, place: &Place<'_>) -> Result<Condition, FilterError> {
        if place.depth() > MAX_DEPTH {
            return Err(FilterError::TooDeep);
        }
        let conditions = object.iter().map(|(key, value)| self.entry(key, value, &Place::Key(place, key)));
        conditions.collect::<Result<_, _>>().map(Condition::All)
    }

    fn entry(&mut self, key: &str, value: &Value, place: &Place<'_>) -> Result<Condition, FilterError> {
        match key {
            "$and" => self.filters(value, place).map(Condition::All),
            "$or" => self.filters(value, place).map(Condition::Any),
            "$not" => match value.as_object() {
                Some(object) => self.object(object, place).map(|condition| Condition::Not(Box::new(condition))),
                None => place.error("$not needs a filter, which is an object"),
            },
            key if key.starts_with('$') => {
                place.error("only $and, $or and $not can stand here; other operators stand in an object below a key")
            }
            key => self.key(key, value, place),
        }
    }

    fn filters(&mut self, value: &Value, place: &Place<'_>) -> Result<Vec<Condition>, FilterError> {
        let Some(items) = value.as_array().filter(|items| !items.is_empty()) else {
            return place.error("needs a list of at least one filter");
        };
        let read = |(position, item): (usize, &Value)| {
            let place = Place::Item(place, position);
            match item.as_object() {
                Some(object) => self.object(object, &place),
                None => place.error("must be a filter, which is an object"),
            }
        };
        items.iter().enumerate().map(read).collect()
    }

    /// The condition on one key.
    fn key(&mut self, key: &str, value: &Value, place: &Place<'_>) -> Result<Condition, FilterError> {
        match value {
            Value::Object(object) if object.keys().any(|name| name.starts_with('$')) => {
                let operators =
                    object.iter().map(|(name, operand)| self.operator(key, name, operand, &Place::Key(place, name)));
                operators.collect::<Result<_, _>>().map(Condition::All)
            }
            Value::Array(choices) => self.any_of(key, choices, MetadataValue::exact, place),
            value => self.counted(1).map(|()| Condition::In(key.to_owned(), vec![MetadataValue::exact(value)])),
        }
    }

    fn operator(
        &mut self,
        key: &str,
        name: &str,
        operand: &Value,
        place: &Place<'_>,
    ) -> Result<Condition, FilterError> {
        match name {
            "$eq" | "$ne" if has_operator(operand) => place.error("needs a value, not an operator"),
            "$eq" | "$ne" => {
                self.counted(1)?;
                let is_equal = Condition::In(key.to_owned(), vec![MetadataValue::typed(operand)]);
                Ok(if name == "$eq" { is_equal } else { not(is_equal) })
            }
            "$in" | "$nin" => {
                let Some(choices) = operand.as_array() else { return place.error("needs a list of values") };
                let found = self.any_of(key, choices, MetadataValue::typed, place)?;
                Ok(if name == "$in" { found } else { not(found) })
            }
            "$exists" => match operand.as_bool() {
                Some(true) => self.counted(1).map(|()| Condition::Exists(key.to_owned())),
                Some(false) => self.counted(1).map(|()| not(Condition::Exists(key.to_owned()))),
                None => place.error("needs true or false"),
            },
            "$gt" | "$gte" | "$lt" | "$lte" => self.within(key, name, operand, place),
            _ => place.error("is not an operator: use $eq, $ne, $in, $nin, $gt, $gte, $lt, $lte or $exists"),
        }
    }

    /// A comparison with values of the operand's type.
    fn within(&mut self, key: &str, name: &str, operand: &Value, place: &Place<'_>) -> Result<Condition, FilterError> {
        let value = MetadataValue::typed(operand);
        let Some((first, last)) = value.bounds_of_type() else {
            return place.error("needs a number, a date or a text");
        };
        self.ranges += 1;
        if self.ranges > MAX_RANGES {
            return Err(FilterError::ManyRanges);
        }
        self.counted(1)?;
        let bounds = match name {
            "$gt" => (Bound::Excluded(value), last),
            "$gte" => (Bound::Included(value), last),
            "$lt" => (first, Bound::Excluded(value)),
            _ => (first, Bound::Included(value)),
        };
        Ok(Condition::Within(key.to_owned(), bounds))
    }

    fn any_of(
        &mut self,
        key: &str,
        choices: &[Value],
        read: fn(&Value) -> MetadataValue,
        place: &Place<'_>,
    ) -> Result<Condition, FilterError> {
        self.counted(choices.len().max(1))?;
        if let Some(position) = choices.iter().position(has_operator) {
            return Place::Item(place, position).error("must be a value; operators cannot stand in a list");
        }
        Ok(Condition::In(key.to_owned(), choices.iter().map(read).collect()))
    }

    fn counted(&mut self, values: usize) -> Result<(), FilterError> {
        self.values += values;
        if self.values > MAX_VALUES { Err(FilterError::TooLong) } else { Ok(()) }
    }
}

fn not(condition: Condition) -> Condition {
    Condition::Not(Box::new(condition))
}

fn has_operator(value: &Value) -> bool {
    value.as_object().is_some_and(|object| object.keys().any(|key| key.starts_with('$')))
}

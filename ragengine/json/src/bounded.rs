use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// An object counts as this many values, because it takes as much memory as this many numbers.
pub const OBJECT_WEIGHT: usize = 8;

/// The error of an object that has a key twice, if that is refused.
pub const REPEATED_KEY: &str = "has a key twice in one object";

/// What happens to an object that has a key twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RepeatedKeys {
    /// The last value counts.
    Last,
    /// It is an error: no value may be lost.
    Refused,
}

/// Limits on a JSON value of any shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Maximum number of values. An object counts as [`OBJECT_WEIGHT`] values.
    pub max_values: usize,
    /// Maximum nesting depth of lists and objects.
    pub max_depth: usize,
    /// What happens to an object that has a key twice.
    pub repeated_keys: RepeatedKeys,
}

impl Bounds {
    /// The limits on a metadata filter, whose conditions are nested more deeply than metadata. A lost condition would
    /// show documents that the caller excludes.
    pub const METADATA_FILTER: Self = Self { max_values: 1_000, max_depth: 24, repeated_keys: RepeatedKeys::Refused };

    /// Creates a budget, which several values can share.
    pub fn budget(self) -> Budget {
        Budget { bounds: self, left: self.max_values }
    }

    /// Deserializes a value.
    ///
    /// # Errors
    ///
    /// The deserializer's error, or an error that names the exceeded limit.
    pub fn value<'de, D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.budget().deserialize(deserializer)
    }

    /// Deserializes an object. Null gives an empty object.
    ///
    /// # Errors
    ///
    /// Those of [`Self::value`], and an error if the value is neither an object nor null.
    pub fn object<'de, D: Deserializer<'de>>(self, deserializer: D) -> Result<Map<String, Value>, D::Error> {
        match self.value(deserializer)? {
            Value::Object(object) => Ok(object),
            Value::Null => Ok(Map::new()),
            _ => Err(D::Error::custom("must be an object")),
        }
    }
}

/// The number of values that may still be read. It is a seed for one value, or for several in turn.
#[derive(Debug)]
pub struct Budget {
    bounds: Bounds,
    left: usize,
}

impl Budget {
    fn take<E: Error>(&mut self, values: usize) -> Result<(), E> {
        let max = self.bounds.max_values;
        let too_many = || E::custom(format_args!("has more than {max} values, an object counting as {OBJECT_WEIGHT}"));
        self.left = self.left.checked_sub(values).ok_or_else(too_many)?;
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for &mut Budget {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        Nested { budget: self, depth: 0 }.deserialize(deserializer)
    }
}

/// A visitor for a value at a nesting depth.
struct Nested<'a> {
    budget: &'a mut Budget,
    depth: usize,
}

impl Nested<'_> {
    /// The visitor for the elements of this list or object.
    fn inside<E: Error>(&mut self) -> Result<Nested<'_>, E> {
        if self.depth < self.budget.bounds.max_depth {
            Ok(Nested { budget: &mut *self.budget, depth: self.depth + 1 })
        } else {
            Err(E::custom(format_args!("is nested more than {} deep", self.budget.bounds.max_depth)))
        }
    }

    fn one<E: Error>(self, value: Value) -> Result<Value, E> {
        self.budget.take(1)?;
        Ok(value)
    }
}

impl<'de> DeserializeSeed<'de> for Nested<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Nested<'_> {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        self.one(Value::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        self.one(Value::from(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        self.one(Value::from(value))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        self.one(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        self.one(Value::from(value))
    }

    fn visit_string<E: Error>(self, value: String) -> Result<Value, E> {
        self.one(Value::String(value))
    }

    fn visit_none<E: Error>(self) -> Result<Value, E> {
        self.one(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.deserialize(deserializer)
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        self.one(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<Value, A::Error> {
        self.budget.take(1)?;
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(self.inside()?)? {
            list.push(item);
        }
        // A `Vec` allocates room for four items at the first one, which adds up for nested lists with one item.
        list.shrink_to_fit();
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut fields: A) -> Result<Value, A::Error> {
        self.budget.take(OBJECT_WEIGHT)?;
        let mut object = Map::new();
        while let Some(name) = fields.next_key::<String>()? {
            let former = object.insert(name, fields.next_value_seed(self.inside()?)?);
            if former.is_some() && self.budget.bounds.repeated_keys == RepeatedKeys::Refused {
                return Err(A::Error::custom(REPEATED_KEY));
            }
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const BOUNDS: Bounds = Bounds { max_values: 20, max_depth: 3, repeated_keys: RepeatedKeys::Last };

    #[test]
    fn the_last_value_of_a_repeated_key_counts_unless_it_is_refused() {
        let read = |repeated_keys, text| {
            Bounds { max_values: 100, repeated_keys, ..BOUNDS }.value(&mut serde_json::Deserializer::from_str(text))
        };
        for text in [r#"{"a": 1, "b": 2, "a": 3}"#, r#"[{"a": {"b": 1, "b": 1}}]"#] {
            read(RepeatedKeys::Last, text).unwrap();
            let error = read(RepeatedKeys::Refused, text).unwrap_err();
            assert!(error.to_string().starts_with(REPEATED_KEY), "{error}");
        }
        read(RepeatedKeys::Refused, r#"{"a": {"a": 1}, "b": [{"a": 1}, {"a": 1}]}"#).unwrap();
    }

    fn read(text: &str) -> Result<Value, String> {
        BOUNDS.value(&mut serde_json::Deserializer::from_str(text)).map_err(|error| error.to_string())
    }

    #[test]
    fn a_value_over_a_limit_is_refused_with_a_message() {
        for (text, wrong) in [
            (r#"{"a": [1, -2, 2.5, "x", null, true]}"#.to_owned(), None),
            (format!("[{}]", ["0"; 19].join(",")), None),
            (format!("[{}]", ["0"; 20].join(",")), Some("more than 20 values")),
            ("[{},{}]".to_owned(), None),
            ("[{},{},{}]".to_owned(), Some("an object counting as 8")),
            ("[[[]]]".to_owned(), None),
            ("[[[[]]]]".to_owned(), Some("nested more than 3 deep")),
        ] {
            match (read(&text), wrong) {
                (Ok(value), None) => assert_eq!(value, serde_json::from_str::<Value>(&text).unwrap()),
                (Err(error), Some(wrong)) => assert!(error.contains(wrong), "{text}: {error}"),
                (read, _) => panic!("{text}: {read:?}"),
            }
        }
    }

    #[test]
    fn an_object_may_be_null_and_nothing_else() {
        let object = |text: &str| BOUNDS.object(&mut serde_json::Deserializer::from_str(text));
        assert_eq!(object("null").unwrap(), Map::new());
        assert_eq!(Value::from(object(r#"{"a": 1}"#).unwrap()), json!({"a": 1}));
        assert!(object("[]").unwrap_err().to_string().contains("must be an object"));
    }

    #[test]
    fn a_list_has_no_spare_capacity() {
        let Value::Array(outer) = read("[[0],1]").unwrap() else { unreachable!() };
        let Value::Array(inner) = &outer[0] else { unreachable!() };
        assert_eq!((outer.capacity(), inner.capacity()), (2, 1));
    }
}

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// A change to a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Edit {
    /// Keep the field unchanged.
    Keep,
    /// Remove the field.
    Drop,
    /// Replace the value with this JSON text.
    Replace(String),
}

/// Calls `take` with the name and the raw value of every field of a JSON object, in order, without storing them.
///
/// # Errors
///
/// The text is not JSON, or not an object.
pub fn each_field<'a>(object: &'a str, take: impl FnMut(Cow<'a, str>, &'a RawValue)) -> Result<(), serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_str(object);
    deserializer.deserialize_map(Fields(take))?;
    deserializer.end()
}

/// Rewrites a JSON object: applies `edit` to each field and appends the fields of `added`, whose values are JSON. Kept
/// values keep their bytes.
///
/// # Errors
///
/// As [`each_field`].
pub fn rewrite(
    object: &str,
    mut edit: impl FnMut(&str, &RawValue) -> Edit,
    added: &[(&str, String)],
) -> Result<Vec<u8>, serde_json::Error> {
    let mut written = Written { bytes: Vec::with_capacity(object.len()), result: Ok(()) };
    each_field(object, |name, value| match edit(&name, value) {
        Edit::Keep => written.field(&name, value.get()),
        Edit::Drop => {}
        Edit::Replace(value) => written.field(&name, &value),
    })?;
    for (name, value) in added {
        written.field(name, value);
    }
    written.end()
}

struct Written {
    bytes: Vec<u8>,
    result: Result<(), serde_json::Error>,
}

impl Written {
    fn field(&mut self, name: &str, value: &str) {
        self.bytes.push(if self.bytes.is_empty() { b'{' } else { b',' });
        if let Err(error) = serde_json::to_writer(&mut self.bytes, name) {
            self.result = Err(error);
        }
        self.bytes.push(b':');
        self.bytes.extend_from_slice(value.as_bytes());
    }

    fn end(mut self) -> Result<Vec<u8>, serde_json::Error> {
        self.result?;
        if self.bytes.is_empty() {
            self.bytes.push(b'{');
        }
        self.bytes.push(b'}');
        Ok(self.bytes)
    }
}

struct Fields<F>(F);

impl<'a, F: FnMut(Cow<'a, str>, &'a RawValue)> Visitor<'a> for Fields<F> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'a>>(mut self, mut fields: A) -> Result<(), A::Error> {
        while let Some(Name(name)) = fields.next_key()? {
            (self.0)(name, fields.next_value()?);
        }
        Ok(())
    }
}

/// A field's name, borrowed if it has no escapes.
struct Name<'a>(Cow<'a, str>);

impl<'a> Deserialize<'a> for Name<'a> {
    fn deserialize<D: Deserializer<'a>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl<'a> Visitor<'a> for Text {
            type Value = Name<'a>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a name")
            }

            fn visit_borrowed_str<E: serde::de::Error>(self, text: &'a str) -> Result<Name<'a>, E> {
                Ok(Name(Cow::Borrowed(text)))
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Name<'a>, E> {
                Ok(Name(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(Text)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Map, Value};

    use super::*;

    #[test]
    fn kept_values_keep_their_bytes() {
        let sent = r#"{ "b" : 1.50, "a":[ {"x":1e400} ],"own":true, "\u0061\n": 123456789012345678901234567890 }"#;
        let edit = |name: &str, _: &RawValue| match name {
            "own" => Edit::Drop,
            "b" => Edit::Replace("2".to_owned()),
            _ => Edit::Keep,
        };
        let written = rewrite(sent, edit, &[("model", r#""m""#.to_owned())]).unwrap();
        let expected = r#"{"b":2,"a":[ {"x":1e400} ],"a\n":123456789012345678901234567890,"model":"m"}"#;
        assert_eq!(String::from_utf8(written).unwrap(), expected);
        assert_eq!(rewrite("{}", |_, _| Edit::Keep, &[]).unwrap(), b"{}");
        assert_eq!(rewrite(r#"{"a":1}"#, |_, _| Edit::Drop, &[]).unwrap(), b"{}");
    }

    #[test]
    fn a_text_that_is_not_an_object_is_refused() {
        for text in ["", "[]", "1", "{", r#"{"a"}"#, r#"{"a":1}x"#, r#"{"a":[}"#] {
            assert!(each_field(text, |_, _| {}).is_err(), "{text}");
        }
        // Depth is not limited because nothing is built.
        let deep = format!(r#"{{"a":{}{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
        assert!(each_field(&deep, |_, _| {}).is_ok());
    }

    proptest! {
        #[test]
        fn rewriting_without_changes_keeps_the_meaning(names in prop::collection::vec(".{0,6}", 0..8)) {
            let object: Map<String, Value> =
                names.into_iter().map(|name| (name.clone(), Value::from(vec![name]))).collect();
            let written = rewrite(&Value::from(object.clone()).to_string(), |_, _| Edit::Keep, &[]).unwrap();
            prop_assert_eq!(serde_json::from_slice::<Value>(&written).unwrap(), Value::from(object));
        }
    }
}

use std::fmt;

use ragengine_client::wire::FieldError;
use serde::de::value::SeqAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};
use serde_json::Value;

use crate::error::ApiError;

/// Most texts in one request, as in OpenAI's API.
const MAX_INPUTS: usize = 2048;

/// The texts to embed: a string or a list of strings. Parsing stops at the limit, so a longer list costs no more.
#[derive(Debug)]
pub struct Input(Vec<String>);

impl Input {
    /// Returns the texts.
    ///
    /// # Errors
    ///
    /// [`ApiError::Schema`] when the list or one of the texts is empty.
    pub fn texts(self) -> Result<Vec<String>, ApiError> {
        let wrong = |msg: &str| {
            let loc = vec![Value::from("body"), Value::from("input")];
            ApiError::Schema(vec![FieldError { loc, msg: msg.to_owned(), kind: "bounds".to_owned() }])
        };
        match self.0 {
            texts if texts.is_empty() => Err(wrong("must have at least one text")),
            texts if texts.iter().any(|text| text.trim().is_empty()) => Err(wrong("has an empty text")),
            texts => Ok(texts),
        }
    }
}

impl<'de> Deserialize<'de> for Input {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Texts).map(Self)
    }
}

struct Texts;

impl<'de> Visitor<'de> for Texts {
    type Value = Vec<String>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a string or a list of strings")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(vec![text.to_owned()])
    }

    fn visit_string<E: Error>(self, text: String) -> Result<Self::Value, E> {
        Ok(vec![text])
    }

    fn visit_seq<A: SeqAccess<'de>>(self, texts: A) -> Result<Self::Value, A::Error> {
        ragengine_json::bounded_list(SeqAccessDeserializer::new(texts), MAX_INPUTS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_is_a_string_or_a_list_of_strings() {
        let read = |json: &str| serde_json::from_str::<Input>(json).map_err(|error| error.to_string());
        assert_eq!(read(r#""a\n""#).unwrap().texts().unwrap(), ["a\n"]);
        assert_eq!(read(r#"["a", "b"]"#).unwrap().texts().unwrap(), ["a", "b"]);
        let list = |count: usize| serde_json::to_string(&vec!["a"; count]).unwrap();
        assert_eq!(read(&list(MAX_INPUTS)).unwrap().texts().unwrap().len(), MAX_INPUTS);
        assert!(read(&list(MAX_INPUTS + 1)).unwrap_err().contains("more than 2048 items: send them in parts"));
        for wrong in ["1", "null", "{}"] {
            assert!(read(wrong).unwrap_err().contains("a string or a list of strings"), "{wrong}");
        }
        assert!(read("[1]").unwrap_err().contains("a string"));
        for (json, words) in [("[]", "at least one"), (r#"["a", " "]"#, "empty")] {
            let Err(ApiError::Schema(errors)) = read(json).unwrap().texts() else { panic!("{json} was taken") };
            assert!(errors[0].msg.contains(words), "{}", errors[0].msg);
        }
    }
}

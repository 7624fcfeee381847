//! The list of models that callers get.

use std::collections::HashMap;

use bytes::Bytes;
use serde_json::Value;

use super::allowed::AllowedModels;

/// A list of models as JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelList {
    /// The whole list.
    pub whole: Bytes,
    each: HashMap<String, Bytes>,
}

impl ModelList {
    /// The list of an endpoint, unchanged except that models that are not allowed are removed. None if it is not JSON.
    pub(super) fn read(body: &Bytes, allowed: &AllowedModels) -> Option<Self> {
        let mut list: Value = serde_json::from_slice(body).ok()?;
        if let Some(models) = models_mut(&mut list) {
            allowed.filter(models);
        }
        let whole = if allowed.are_few() { written(&list) } else { body.clone() };
        Some(Self { whole, each: each(&mut list) })
    }

    /// A list that this server writes.
    pub fn of(mut list: Value) -> Self {
        Self { whole: written(&list), each: each(&mut list) }
    }

    /// The JSON of one model. None if it is not listed.
    pub fn get(&self, id: &str) -> Option<Bytes> {
        self.each.get(id).cloned()
    }

    /// The names of the listed models.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.each.keys().map(String::as_str)
    }
}

fn each(list: &mut Value) -> HashMap<String, Bytes> {
    let models = models_mut(list).into_iter().flatten();
    models.filter_map(|model| Some((model["id"].as_str()?.to_owned(), written(model)))).collect()
}

/// The models in OpenAI's format or in a bare list, which some endpoints send.
fn models_mut(list: &mut Value) -> Option<&mut Vec<Value>> {
    match list {
        Value::Array(models) => Some(models),
        list => list.get_mut("data")?.as_array_mut(),
    }
}

fn written(value: &Value) -> Bytes {
    value.to_string().into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(body: &'static str, allowed: &[&str]) -> Option<ModelList> {
        let allowed: Vec<String> = allowed.iter().map(ToString::to_string).collect();
        ModelList::read(&Bytes::from_static(body.as_bytes()), &AllowedModels::new(&allowed, None))
    }

    #[test]
    fn a_list_stays_as_it_came() {
        let body = r#"{"data": [ {"id": "a/b", "n": 1.50} ], "object": "list"}"#;
        let list = read(body, &[]).unwrap();
        assert_eq!(list.whole, body.as_bytes());
        let model: Value = serde_json::from_slice(&list.get("a/b").unwrap()).unwrap();
        assert_eq!((model, list.get("a")), (json!({"id": "a/b", "n": 1.5}), None));
    }

    #[test]
    fn what_may_not_be_asked_for_is_not_listed() {
        for (body, expected) in [
            (r#"{"object":"list","data":[{"id":"a"},{"id":"x"}]}"#, r#"{"object":"list","data":[{"id":"a"}]}"#),
            (r#"[{"id":"x"},{"id":"a"}]"#, r#"[{"id":"a"}]"#),
            (r#"{"odd":1}"#, r#"{"odd":1}"#),
        ] {
            let list = read(body, &["a"]).unwrap();
            assert_eq!((list.whole.as_ref(), list.get("x")), (expected.as_bytes(), None));
        }
        assert_eq!(read("<html>", &[]), None);
    }
}

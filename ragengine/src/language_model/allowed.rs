//! The models that callers may request.

use ragengine_pipeline::Rejection;
use serde_json::Value;

/// The models that callers may request. None allows any model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedModels(Option<Vec<String>>);

impl AllowedModels {
    /// The models of the settings, which always include the default model.
    pub fn new(models: &[String], default: Option<&String>) -> Self {
        let more = default.filter(|default| !models.contains(default));
        Self((!models.is_empty()).then(|| more.into_iter().chain(models).cloned().collect()))
    }

    /// Whether the models are restricted.
    pub fn are_few(&self) -> bool {
        self.0.is_some()
    }

    /// Whether this model is allowed.
    pub fn includes(&self, model: &str) -> bool {
        self.0.as_ref().is_none_or(|allowed| allowed.iter().any(|known| known == model))
    }

    /// Checks that all of these models are allowed.
    ///
    /// # Errors
    ///
    /// [`Rejection::Model`] with the first model that is not allowed, and the list of allowed ones.
    pub fn require<'a>(&self, mut asked: impl Iterator<Item = &'a str>) -> Result<(), Rejection> {
        match (&self.0, asked.find(|model| !self.includes(model))) {
            (Some(allowed), Some(asked)) => {
                Err(Rejection::Model { asked: asked.chars().take(MAX_SHOWN).collect(), allowed: allowed.clone() })
            }
            _ => Ok(()),
        }
    }

    /// The model for requests that name none: the first listed model that is allowed. If no listed model is allowed,
    /// the first one of the settings.
    pub fn first_of(&self, listed: &[String]) -> Option<String> {
        let first_listed = listed.iter().find(|model| self.includes(model));
        first_listed.or_else(|| self.0.as_ref()?.first()).cloned()
    }

    /// Removes the models that are not allowed from a list.
    pub fn filter(&self, models: &mut Vec<Value>) {
        if self.are_few() {
            models.retain(|model| model["id"].as_str().is_some_and(|id| self.includes(id)));
        }
    }
}

/// The longest part of a caller's model name that an error repeats, in characters.
const MAX_SHOWN: usize = 100;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn allowed(models: &[&str], default: Option<&str>) -> AllowedModels {
        let models: Vec<String> = models.iter().map(ToString::to_string).collect();
        AllowedModels::new(&models, default.map(str::to_owned).as_ref())
    }

    #[test]
    fn an_empty_list_allows_every_model() {
        for any in [allowed(&[], None), allowed(&[], Some("d"))] {
            assert_eq!(any.require(["a", "d"].into_iter()), Ok(()));
            assert!(!any.are_few());
        }
    }

    #[test]
    fn what_is_not_listed_is_refused_with_what_is() {
        let few = allowed(&["a", "b"], Some("d"));
        assert_eq!(few.require(["a", "b", "d"].into_iter()), Ok(()));
        assert_eq!(few.require([].into_iter()), Ok(()));
        let message = few.require(["a", "x"].into_iter()).unwrap_err().to_string();
        assert!(message.contains("'x'") && message.contains("'d', 'a', 'b'"), "{message}");
    }

    #[test]
    fn a_request_without_a_model_gets_one_that_is_allowed() {
        let listed = ["x", "b", "a"].map(str::to_owned);
        for (few, listed, expected) in [
            (allowed(&[], None), &listed[..], Some("x")),
            (allowed(&[], None), &[], None),
            (allowed(&["a", "b"], None), &listed, Some("b")),
            (allowed(&["c"], None), &listed, Some("c")),
            (allowed(&["c"], None), &[], Some("c")),
        ] {
            assert_eq!(few.first_of(listed).as_deref(), expected, "{few:?} of {listed:?}");
        }
    }

    #[test]
    fn a_list_shows_what_may_be_asked_for() {
        let listed = vec![json!({"id": "a"}), json!({"id": "x"}), json!({"name": "a"}), json!(1)];
        let shown = |few: &AllowedModels| {
            let mut models = listed.clone();
            few.filter(&mut models);
            models
        };
        assert_eq!(shown(&allowed(&["a", "b"], None)), [json!({"id": "a"})]);
        assert_eq!(shown(&allowed(&[], None)), listed);
    }
}

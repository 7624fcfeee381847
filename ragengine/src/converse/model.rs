//! The language model of a question.

use ragengine_pipeline::Rejection;

use crate::access::Caller;
use crate::app::App;
use crate::error::ApiError;
use crate::language_model::LanguageModel;
use crate::retrieval::stages::Endpoint;

/// The longest part of a caller's model name that an error repeats, in characters.
const MAX_SHOWN: usize = 100;

/// The model that a request names, else that of the caller's session, else the caller's in the settings. None: the
/// configured one, else the first that the endpoint lists.
///
/// # Errors
///
/// [`Rejection::Model`] with the list of models, when it is not on it, or the errors of the endpoint's list.
pub(super) async fn chosen(
    app: &App,
    caller: &Caller,
    endpoint: Endpoint,
    named: Option<String>,
) -> Result<Option<String>, ApiError> {
    let settings = &app.settings.endpoints.chat;
    let named = named.filter(|name| !name.is_empty());
    if endpoint != Endpoint::Chat {
        return Ok(named);
    }
    let of_session = || caller.model_id().map(str::to_owned);
    let of_caller = || settings.model_by_caller.get(caller.principal()?).cloned();
    let Some(model) = named.or_else(of_session).or_else(of_caller) else { return Ok(None) };
    let LanguageModel::Upstream(upstream) = &*app.language_model else { return Ok(Some(model)) };
    let allowed = match settings.models.as_slice() {
        [] => upstream.models().await?.ids().map(str::to_owned).collect(),
        models => models.to_vec(),
    };
    require(model, allowed).map(Some)
}

fn require(model: String, mut allowed: Vec<String>) -> Result<String, ApiError> {
    if allowed.contains(&model) {
        return Ok(model);
    }
    allowed.sort();
    Err(Rejection::Model { asked: model.chars().take(MAX_SHOWN).collect(), allowed }.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_must_be_on_the_list() {
        let models = || vec!["b".to_owned(), "a".to_owned()];
        assert_eq!(require("a".to_owned(), models()).ok().as_deref(), Some("a"));
        let error = require("x".to_owned(), models()).unwrap_err().to_string();
        assert!(error.contains("'x'") && error.contains("'a', 'b'"), "{error}");
    }
}

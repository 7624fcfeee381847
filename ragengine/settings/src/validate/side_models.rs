//! The settings of the models that rewrite questions and put chunks in order.

use ragengine_pipeline::words::Words;

use super::{Invalid, MAX_WORDS, is_http, is_short};
use crate::{InferenceService, RerankBackend, Settings};

const IS_ALLOWED: &str =
    "must be in inferenceService.models: add it there, or leave that list empty to allow every model";
const ARE_WORDS: &str = "must be at most 100 words or phrases of 1 to 200 bytes, each with a letter or a digit";

/// What is wrong with `rewrite.model` and `rerank`.
pub(super) fn check(settings: &Settings) -> impl Iterator<Item = Invalid> {
    let (service, rerank) = (&settings.inference_service, &settings.rerank);
    let (is_endpoint, url) = (rerank.backend == RerankBackend::Endpoint, rerank.url.as_deref());
    let checks = [
        (is_allowed(service, settings.rewrite.model.as_deref()), "rewrite.model", IS_ALLOWED),
        (
            !is_endpoint || url.is_some(),
            "rerank.url",
            "is needed with rerank.backend: endpoint: write the reranker's address, such as \
             http://reranker:8080/rerank, or backend: llm",
        ),
        (
            is_endpoint || url.is_none(),
            "rerank.url",
            "is only used with rerank.backend: endpoint: write that, or remove the url",
        ),
        (url.is_none_or(is_http), "rerank.url", "must begin with http:// or https://"),
        (
            url.is_none_or(has_no_credentials),
            "rerank.url",
            "must not contain a user or password: write the location of the key in rerank.apiKey",
        ),
        (
            rerank.backend != RerankBackend::Local || rerank.local.is_some(),
            "rerank.local",
            "is needed with rerank.backend: local: write local: {modelID: cross-encoder/ms-marco-MiniLM-L6-v2}, or \
             another model's name or folder",
        ),
        (
            rerank.backend == RerankBackend::Local || rerank.local.is_none(),
            "rerank.local",
            "is only used with rerank.backend: local: write that, or remove local",
        ),
        (
            rerank.local.as_ref().is_none_or(|local| !local.model_id.is_empty() && local.max_tokens != Some(0)),
            "rerank.local",
            "modelID must not be empty, and maxTokens must be at least 1",
        ),
        (
            rerank.backend != RerankBackend::Local || rerank.model.is_none(),
            "rerank.model",
            "is not used with rerank.backend: local: write the model into rerank.local.modelID",
        ),
        (
            rerank.backend != RerankBackend::Llm || is_allowed(service, rerank.model.as_deref()),
            "rerank.model",
            IS_ALLOWED,
        ),
        ((0.0..=1.0).contains(&rerank.score_spread), "rerank.scoreSpread", "must be between 0 and 1"),
        (are_words(&rerank.temporal_words), "rerank.temporalWords", ARE_WORDS),
        (are_words(&rerank.comparison_words), "rerank.comparisonWords", ARE_WORDS),
    ];
    let wrong = checks.into_iter().filter(|(holds, ..)| !holds);
    wrong.map(|(_, setting, message)| Invalid { setting: setting.to_owned(), message: message.to_owned() })
}

/// Whether callers may request this model, too. Otherwise the list would not say which models the server uses.
fn is_allowed(service: &InferenceService, model: Option<&str>) -> bool {
    let Some(model) = model else { return true };
    service.models.is_empty()
        || service.model.as_deref() == Some(model)
        || service.models.iter().any(|allowed| allowed == model)
}

fn has_no_credentials(url: &str) -> bool {
    let after_scheme = url.split_once(':').map_or(url, |(_, rest)| rest).trim_start_matches(['/', '\\']);
    let authority = after_scheme.split(['/', '\\', '?', '#']).next().unwrap_or_default();
    !authority.contains('@')
}

fn are_words(phrases: &[String]) -> bool {
    phrases.len() <= MAX_WORDS && phrases.iter().all(|phrase| is_short(phrase) && !Words::of(phrase).is_empty())
}

//! The settings of `/chat`, and of what becomes of an answer.

use super::{Invalid, is_short};
use crate::{ContextFormat, Settings};

/// The most chunks of one question.
const MAX_TOP_K: u32 = 300;

/// More tokens than any context window has.
const MAX_WINDOW_TOKENS: u32 = 100_000_000;

/// Each is looked for in the first sentence of every answer.
const MAX_PHRASES: usize = 100;

const MAX_MODELS: usize = 1000;

/// What is wrong with `citations`, `endpoints.chat`, and the stages after the answer.
pub(super) fn check(settings: &Settings) -> impl Iterator<Item = Invalid> {
    let (citations, endpoints) = (&settings.citations, &settings.endpoints);
    let (completions, query, chat) = (&endpoints.completions, &endpoints.query, &endpoints.chat);
    let are_cited_by_number = |is_cited: bool, format: ContextFormat| !is_cited || format == ContextFormat::Numbered;
    let has_source = "must not be source beside citations: true, because answers cite numbers: write numbered";
    let checks = [
        (
            (1..=1000).contains(&citations.fallback_message.trim().len()),
            "citations.fallbackMessage",
            "must have between 1 and 1000 bytes",
        ),
        (
            citations.insufficient_phrases.len() <= MAX_PHRASES
                && citations.insufficient_phrases.iter().all(|phrase| is_short(phrase.trim())),
            "citations.insufficientPhrases",
            "must have at most 100 phrases, each of 1 to 200 bytes",
        ),
        ((1..=MAX_TOP_K).contains(&chat.top_k), "endpoints.chat.topK", "must be between 1 and 300"),
        (
            (100..=MAX_WINDOW_TOKENS).contains(&chat.max_context_tokens),
            "endpoints.chat.maxContextTokens",
            "must be between 100 and 100000000",
        ),
        ((0.0..=2.0).contains(&chat.temperature), "endpoints.chat.temperature", "must be between 0 and 2"),
        (
            (1..=MAX_WINDOW_TOKENS).contains(&chat.max_tokens),
            "endpoints.chat.maxTokens",
            "must be between 1 and 100000000",
        ),
        (
            chat.models.len() <= MAX_MODELS && chat.models.iter().all(|model| is_short(model)),
            "endpoints.chat.models",
            "must have at most 1000 names, each of 1 to 200 bytes",
        ),
        (
            chat.model_by_caller.len() <= MAX_MODELS
                && chat.model_by_caller.iter().all(|(caller, model)| is_short(caller) && is_short(model)),
            "endpoints.chat.modelByCaller",
            "must have at most 1000 entries of a caller and a model, each of 1 to 200 bytes",
        ),
        (
            are_cited_by_number(completions.citations, completions.context_format),
            "endpoints.completions.contextFormat",
            has_source,
        ),
        (are_cited_by_number(query.citations, query.context_format), "endpoints.query.contextFormat", has_source),
        (are_cited_by_number(chat.citations, chat.context_format), "endpoints.chat.contextFormat", has_source),
    ];
    let wrong = checks.into_iter().filter(|(holds, ..)| !holds);
    wrong.map(|(_, setting, message)| Invalid { setting: setting.to_owned(), message: message.to_owned() })
}

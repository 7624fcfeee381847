//! How much context a language model gets, and the names under which interactions are kept.

use std::collections::BTreeMap;

/// The category of a question that names none.
pub const DEFAULT_CATEGORY: &str = "general";

/// The interactions that are searched when the request names a provider.
pub const TOP_K_OF_PROVIDER: usize = 3;

/// The most characters of a context for a model: those of its whole name, else of the part behind the last `/`, else
/// the default.
pub fn max_chars(by_model: &BTreeMap<String, usize>, default: usize, model: &str) -> usize {
    let short = model.rsplit('/').next().unwrap_or(model);
    by_model.get(model).or_else(|| by_model.get(short)).copied().unwrap_or(default)
}

/// The provider of an interaction: the model's name if that has one, else with the configured one before it.
pub fn provider(model: &str, provider_name: &str) -> String {
    if model.contains('/') { model.to_owned() } else { format!("{provider_name}/{model}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_has_the_limit_of_its_name() {
        let by_model = [("gpt-4o", 4000), ("claude-3-5-haiku", 2000), ("gemini-pro", 3000), ("acme/gpt-4o", 100)]
            .map(|(model, chars)| (model.to_owned(), chars))
            .into();
        for (model, expected) in [
            ("gpt-4o", 4000),
            ("claude-3-5-haiku", 2000),
            ("gemini-pro", 3000),
            ("openai/gpt-4o", 4000),
            ("router/openai/gpt-4o", 4000),
            ("acme/gpt-4o", 100),
            ("gpt-4o-mini", 2000),
            ("GPT-4o", 2000),
            ("", 2000),
        ] {
            assert_eq!(max_chars(&by_model, 2000, model), expected, "{model}");
        }
    }

    #[test]
    fn a_provider_has_a_slash() {
        for (model, expected) in [("qwen3-8b", "local/qwen3-8b"), ("openai/gpt-4o", "openai/gpt-4o")] {
            assert_eq!(provider(model, "local"), expected);
        }
    }
}

//! The context windows of OpenAI's models.

use super::{bare_name, is_of_family};

/// Models and their windows in tokens, for prompt and answer together, from OpenAI's list of models. The longest
/// matching name is used.
const WINDOWS: [(&str, u64); 33] = [
    ("gpt-3.5-turbo", 16_385),
    ("gpt-3.5-turbo-0301", 4_096),
    ("gpt-3.5-turbo-0613", 4_096),
    ("gpt-3.5-turbo-instruct", 4_096),
    ("gpt-35-turbo", 16_385),
    ("gpt-35-turbo-0301", 4_096),
    ("gpt-35-turbo-0613", 4_096),
    ("gpt-35-turbo-instruct", 4_096),
    ("gpt-4", 8_192),
    ("gpt-4-32k", 32_768),
    ("gpt-4-0125-preview", 128_000),
    ("gpt-4-1106-preview", 128_000),
    ("gpt-4-turbo", 128_000),
    ("gpt-4-vision-preview", 128_000),
    ("gpt-4o", 128_000),
    ("chatgpt-4o", 128_000),
    ("gpt-4.1", 1_047_576),
    ("gpt-4.5", 128_000),
    ("gpt-5", 400_000),
    ("gpt-5-chat", 128_000),
    ("gpt-5.1-chat", 128_000),
    ("gpt-5.2-chat", 128_000),
    ("gpt-5.3-chat", 128_000),
    ("gpt-5.4", 1_050_000),
    ("gpt-5.4-mini", 400_000),
    ("gpt-5.4-nano", 400_000),
    ("o1", 200_000),
    ("o1-mini", 128_000),
    ("o1-preview", 128_000),
    ("o3", 200_000),
    ("o4", 200_000),
    ("codex-mini", 200_000),
    ("gpt-oss", 131_072),
];

/// The context window of an OpenAI model in tokens. Accepts the same names as
/// [`Tokenizer::openai`](crate::Tokenizer::openai). None for any other name.
pub fn openai_window(model: &str) -> Option<u64> {
    let name = bare_name(model);
    let fitting = WINDOWS.iter().filter(|(known, _)| is_of_family(&name, known));
    fitting.max_by_key(|(known, _)| known.len()).map(|(_, tokens)| *tokens)
}

//! Estimates token counts if the served model's tokenizer is not known.

use serde_json::Value;

/// Assumed length of a token in bytes. Few tokenizers have shorter tokens in prose or code. An estimate that is too
/// high costs some context; one that is too low can make the whole request fail.
const BYTES_PER_TOKEN: usize = 3;

/// Assumed number of tokens that a chat template adds to each message.
const TOKENS_PER_MESSAGE: u64 = 4;

/// Assumed number of tokens that a chat template adds before the answer.
const TOKENS_BEFORE_ANSWER: u64 = 3;

/// Estimates the number of tokens of a text: three bytes per token, rounded up.
pub fn estimate(text: &str) -> u64 {
    text.len().div_ceil(BYTES_PER_TOKEN) as u64
}

/// The number of tokens of a conversation: the sum of `count` for all contents, and the assumed additions of a chat
/// template.
pub fn conversation(messages: &[Value], count: impl Fn(&str) -> u64) -> u64 {
    messages.iter().map(|message| message_tokens(message, &count) + TOKENS_PER_MESSAGE).sum::<u64>()
        + TOKENS_BEFORE_ANSWER
}

/// Counts text content as text, and other fields (names, tool calls) as JSON.
fn message_tokens(message: &Value, count: &impl Fn(&str) -> u64) -> u64 {
    let Some(fields) = message.as_object() else { return count(&message.to_string()) };
    fields
        .iter()
        .map(|(name, value)| match (name.as_str(), value) {
            ("role", _) | (_, Value::Null) => 1,
            ("content", Value::String(text)) => count(text),
            ("content", Value::Array(parts)) => {
                parts.iter().map(|part| part["text"].as_str().map_or_else(|| count(&part.to_string()), count)).sum()
            }
            (_, other) => count(&other.to_string()),
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use ragengine_pipeline::budget::INSTRUCTION_TOKENS;
    use ragengine_pipeline::prompt::{Boundary, context};
    use ragengine_pipeline::request::ContextFormat;
    use serde_json::json;

    use super::*;

    #[test]
    fn the_estimate_rounds_up() {
        for (text, tokens) in [("", 0), ("a", 1), ("abc", 1), ("abcd", 2), ("ßßß", 2)] {
            assert_eq!(estimate(text), tokens, "{text}");
        }
    }

    #[test]
    fn everything_in_a_message_counts() {
        let bytes = |text: &str| text.len() as u64;
        let plain = conversation(&[json!({"role": "user", "content": "hello"})], bytes);
        assert_eq!(plain, 5 + 1 + 4 + 3);
        let parts = conversation(&[json!({"role": "user", "content": [{"type": "text", "text": "hello"}]})], bytes);
        assert_eq!(parts, plain);
        let calls = json!({"role": "assistant", "content": null, "tool_calls": [{"id": "x"}]});
        assert!(conversation(&[calls], bytes) > 10);
        assert_eq!(conversation(&[], bytes), 3);
    }

    #[test]
    fn the_instructions_of_a_prompt_fit_into_their_reserve() {
        let empty = [json!({"role": "user", "content": "q"})];
        let with_context = [
            json!({"role": "system", "content": context(&Boundary::of(0), ContextFormat::Numbered, &[])}),
            empty[0].clone(),
        ];
        let cost = conversation(&with_context, estimate) - conversation(&empty, estimate);
        assert!(cost <= INSTRUCTION_TOKENS, "{cost}");
    }
}

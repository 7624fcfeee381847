use proptest::prelude::*;
use ragengine_pipeline::prompt::{Boundary, Passage, block, context};
use ragengine_pipeline::request::ContextFormat;

use super::window::openai_window;
use super::*;

#[test]
fn a_model_is_known_by_its_name() {
    use Encoding::{Cl100k, O200k, O200kHarmony};
    for (model, encoding) in [
        ("gpt-3.5-turbo", Some(Cl100k)),
        ("gpt-3.5-turbo-0125", Some(Cl100k)),
        ("gpt-35-turbo", Some(Cl100k)),
        ("gpt-4", Some(Cl100k)),
        ("gpt-4-0613", Some(Cl100k)),
        ("gpt-4-turbo-2024-04-09", Some(Cl100k)),
        ("openai/gpt-4-32k", Some(Cl100k)),
        ("gpt-4o", Some(O200k)),
        ("GPT-4o-mini", Some(O200k)),
        ("openai/gpt-4o-2024-08-06", Some(O200k)),
        ("openrouter/openai/gpt-4o:extended", Some(O200k)),
        ("chatgpt-4o-latest", Some(O200k)),
        ("gpt-4.1-nano", Some(O200k)),
        ("gpt-4.5-preview", Some(O200k)),
        ("gpt-5", Some(O200k)),
        ("gpt-5-mini-2025-08-07", Some(O200k)),
        ("gpt-5.1-codex", Some(O200k)),
        ("o1", Some(O200k)),
        ("o1-preview", Some(O200k)),
        ("o3-mini", Some(O200k)),
        ("azure/o4-mini", Some(O200k)),
        ("gpt-oss-120b", Some(O200kHarmony)),
        ("openai/gpt-oss-20b", Some(O200kHarmony)),
        ("ft:gpt-4o-mini-2024-07-18:acme::abc123", Some(O200k)),
        ("ft:gpt-3.5-turbo:acme:name:id", Some(Cl100k)),
        ("openai/ft:gpt-4:acme::id", Some(Cl100k)),
        ("", None),
        ("gpt", None),
        ("gpt-2", None),
        ("gpt-4all-j", None),
        ("gpt-4x-alpaca", None),
        ("gpt-4.2", None),
        ("gpt-50", None),
        ("o10", None),
        ("olmo-7b", None),
        ("openai/whisper", None),
        ("openai/", None),
        ("phi-4", None),
        ("meta-llama/Llama-3.1-8B-Instruct", None),
    ] {
        assert_eq!(Encoding::of(model), encoding, "{model}");
    }
}

#[test]
fn the_longest_matching_name_determines_the_window() {
    for (model, tokens) in [
        ("gpt-3.5-turbo", Some(16_385)),
        ("gpt-3.5-turbo-0613", Some(4_096)),
        ("gpt-3.5-turbo-16k-0613", Some(16_385)),
        ("gpt-4", Some(8_192)),
        ("gpt-4-0613", Some(8_192)),
        ("gpt-4-32k-0613", Some(32_768)),
        ("gpt-4-1106-preview", Some(128_000)),
        ("gpt-4-turbo-preview", Some(128_000)),
        ("ft:gpt-4o-mini-2024-07-18:acme::abc123", Some(128_000)),
        ("openai/gpt-4.1-mini", Some(1_047_576)),
        ("o1-2024-12-17", Some(200_000)),
        ("o1-mini-2024-09-12", Some(128_000)),
        ("o3", Some(200_000)),
        ("o3-mini", Some(200_000)),
        ("o4-mini", Some(200_000)),
        ("gpt-5", Some(400_000)),
        ("gpt-5-mini", Some(400_000)),
        ("gpt-5-chat-latest", Some(128_000)),
        ("gpt-5.1", Some(400_000)),
        ("gpt-5.1-chat-latest", Some(128_000)),
        ("gpt-5.4-2026-03-05", Some(1_050_000)),
        ("gpt-5.4-mini", Some(400_000)),
        ("openai/gpt-oss-20b", Some(131_072)),
        ("gpt-4.2", None),
        ("mistral-small", None),
        ("", None),
    ] {
        assert_eq!(openai_window(model), tokens, "{model}");
    }
}

/// OpenAI's cookbook, "How to count tokens with tiktoken", gives these counts.
#[test]
fn texts_count_as_published() {
    for (text, cl100k, o200k) in [
        ("", 0, 0),
        ("tiktoken is great!", 6, 6),
        ("antidisestablishmentarianism", 6, 6),
        ("2 + 2 = 4", 7, 7),
        ("お誕生日おめでとう", 9, 8),
    ] {
        assert_eq!((Encoding::Cl100k.count(text), Encoding::O200k.count(text)), (cl100k, o200k), "{text}");
    }
}

#[test]
fn nothing_in_a_text_is_special() {
    for encoding in [Encoding::Cl100k, Encoding::O200k, Encoding::O200kHarmony] {
        assert!(encoding.count("<|endoftext|>") > 1, "{encoding:?}");
        assert!(encoding.count("<|im_start|>") > 1, "{encoding:?}");
    }
}

#[test]
fn only_gpt_oss_adds_instructions_to_a_conversation() {
    assert_eq!(Encoding::O200k.tokens_before_messages(), 0);
    assert!((60..120).contains(&Encoding::O200kHarmony.tokens_before_messages()));
}

/// Texts whose tokens could span a line break: blanks, slashes, contractions, digits, marks and letters of other
/// scripts.
fn text() -> impl Strategy<Value = String> {
    proptest::collection::vec(
        prop_oneof![
            Just("\n"),
            Just(" "),
            Just("/"),
            Just("["),
            Just("-"),
            Just("'s"),
            Just("\u{a0}"),
            Just("é\u{301}"),
            Just("12345")
        ]
        .prop_map(str::to_owned)
        .boxed()
        .prop_union(".{0,8}".boxed()),
        0..30,
    )
    .prop_map(|parts| parts.concat())
}

/// Replaces the number of a block.
fn with_number(block: &str, number: usize) -> String {
    let (_, rest) = block.split_once(']').unwrap();
    format!("[{number}]{rest}")
}

proptest! {
    #[test]
    fn a_prompt_has_as_many_tokens_as_its_parts(
        texts in proptest::collection::vec((text(), text()), 0..6),
        first_number in 1_usize..990,
        instructions in text(),
        random: u64,
    ) {
        let heading = Some("A > B");
        let block = |number: usize, title: &str, text: &str| {
            let page = Some(number as u64);
            block(number, &Passage { title: Some(title), heading, url: Some("https://e/x"), page, text })
        };
        for encoding in [Encoding::Cl100k, Encoding::O200k] {
            let blocks: Vec<String> =
                texts.iter().zip(first_number..).map(|((title, text), number)| block(number, title, text)).collect();
            let context = |blocks: &[String]| context(&Boundary::of(random), ContextFormat::Numbered, blocks);
            let system = |blocks: &[String]| format!("{instructions}\n\n{}", context(blocks));
            let apart: u64 = blocks.iter().map(|block| encoding.count(&with_number(block, 100))).sum();
            prop_assert_eq!(encoding.count(&system(&blocks)), encoding.count(&system(&[])) + apart);
        }
    }
}

#[test]
fn each_number_of_up_to_three_digits_is_one_token() {
    for number in 0..1000 {
        let text = number.to_string();
        assert_eq!((Encoding::Cl100k.count(&text), Encoding::O200k.count(&text)), (1, 1), "{number}");
    }
}

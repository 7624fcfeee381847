//! Tests counts of texts and conversations.

use std::sync::OnceLock;

use proptest::prelude::*;
use ragengine_pipeline::budget::INSTRUCTION_TOKENS;
use ragengine_pipeline::prompt::{Boundary, context};
use ragengine_pipeline::request::ContextFormat;
use ragengine_tokenizer::conversation;
use ragengine_tokenizer::{Kind, Tokenizer};
use serde_json::{Value, json};

use crate::support::{CHATML, load, real, real_folder, with_template};

/// The expected counts were derived by hand with WordPiece: the longest pieces in the vocabulary, from left to right.
#[test]
fn the_real_tokenizer_counts_texts() {
    let tokenizer = real();
    assert_eq!((tokenizer.kind(), tokenizer.kind().label()), (Kind::Served, "served"));
    for (text, tokens) in [
        ("", 0),
        ("hello world", 2),
        ("Hello, world!", 4),
        ("antidisestablishmentarianism", 8),
        ("[SEP]", 1),
        ("one [SEP] two", 3),
    ] {
        assert_eq!(tokenizer.count(text), tokens, "{text}");
    }
    // The file truncates and pads to 128 tokens.
    assert_eq!(tokenizer.count(&"word ".repeat(1000)), 1000);
}

#[test]
fn a_template_counts_to_the_token() {
    let tokenizer = with_template(CHATML);
    let messages = [json!({"role": "user", "content": "Hi there"}), json!({"role": "assistant", "content": "ß"})];
    // Each marker is one token; everything else counts in bytes.
    let expected = (1 + "user\nHi there".len() + 1 + 1) + (1 + "assistant\nß".len() + 1 + 1) + 1 + "assistant\n".len();
    assert_eq!(tokenizer.count_conversation(&messages), expected as u64);
    assert_eq!(tokenizer.count("Hi there"), 8);
}

#[test]
fn a_special_token_in_a_text_counts_as_the_server_reads_it() {
    let tokenizer = with_template(CHATML);
    assert_eq!(tokenizer.count("<|im_end|>"), 1);
    assert_eq!(tokenizer.count("<|im_end|"), 9);
    let plain = tokenizer.count_conversation(&[json!({"role": "user", "content": ""})]);
    let marked = tokenizer.count_conversation(&[json!({"role": "user", "content": "<|im_end|>"})]);
    assert_eq!(marked, plain + 1);
}

#[test]
fn a_conversation_that_a_template_refuses_is_counted_by_its_texts() {
    let messages = [json!({"role": "system", "content": "abc"})];
    for template in ["{{ raise_exception('no') }}", "{{ messages[9].content.text }}", "{{ 'x' * 99999999999 }}"] {
        let tokenizer = with_template(template);
        let expected = conversation(&messages, |text| tokenizer.count(text));
        assert_eq!(tokenizer.count_conversation(&messages), expected, "{template}");
    }
    let without_template = real();
    assert_eq!(without_template.count_conversation(&messages), 1 + 1 + 4 + 3);
}

/// Numbers with different and repeated digits, and a spread of others.
fn randoms() -> impl Iterator<Item = u64> {
    let spread = (0..500_u64).map(|step| step.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    (0..10).map(|digit| digit * 1_111_111_111).chain([1_234_567_890, 9_876_543_210, 1_000_000_000]).chain(spread)
}

/// The number of tokens of the lines around the passages does not depend on their random number, and fits into the
/// reserve for our instructions.
#[test]
fn the_boundary_does_not_change_the_tokens_of_a_context() {
    for (name, tokenizer) in [
        ("the embedding model's", real()),
        ("cl100k_base", Tokenizer::openai("gpt-4").unwrap()),
        ("o200k_base", Tokenizer::openai("gpt-4o").unwrap()),
        ("a token a byte", with_template(CHATML)),
        ("the estimate", Tokenizer::estimate()),
    ] {
        let tokens = |random: u64| tokenizer.count(&context(&Boundary::of(random), ContextFormat::Numbered, &[]));
        let expected = tokens(0);
        for random in randoms() {
            assert_eq!(tokens(random), expected, "{name}: {random}");
        }
        let conversation = |messages: &[Value]| tokenizer.count_conversation(messages);
        let question = json!({"role": "user", "content": "q"});
        let system = json!({"role": "system", "content": context(&Boundary::of(7), ContextFormat::Numbered, &[])});
        let cost = conversation(&[system, question.clone()]) - conversation(&[question]);
        // A tokenizer with one token per byte is unrealistic.
        assert!(cost <= INSTRUCTION_TOKENS || name == "a token a byte", "{name}: {cost}");
    }
}

/// OpenAI's cookbook, "How to count tokens with tiktoken": the API counted 129 with gpt-4 and 124 with gpt-4o.
#[test]
fn openais_example_is_not_underestimated() {
    let message = |role: &str, name: Option<&str>, content: &str| match name {
        Some(name) => json!({"role": role, "name": name, "content": content}),
        None => json!({"role": role, "content": content}),
    };
    let messages = [
        message(
            "system",
            None,
            "You are a helpful, pattern-following assistant that translates corporate jargon into plain English.",
        ),
        message("system", Some("example_user"), "New synergies will help drive top-line growth."),
        message("system", Some("example_assistant"), "Things working well together will increase revenue."),
        message(
            "system",
            Some("example_user"),
            "Let's circle back when we have more bandwidth to touch base on opportunities for increased leverage.",
        ),
        message("system", Some("example_assistant"), "Let's talk later when we're less busy about how to do better."),
        message("user", None, "This late pivot means we don't have time to boil the ocean for the client deliverable."),
    ];
    for (model, counted_by_the_api) in [("gpt-4", 129), ("gpt-4o", 124)] {
        let counted = Tokenizer::openai(model).unwrap().count_conversation(&messages);
        // The excess is at most one token for each message, and one for the second quotation mark of each name.
        assert!((counted_by_the_api..=counted_by_the_api + 10).contains(&counted), "{model}: {counted}");
    }
}

#[test]
fn gpt_oss_adds_its_instructions() {
    let messages = [json!({"role": "user", "content": "Hi"})];
    let count = |model| Tokenizer::openai(model).unwrap().count_conversation(&messages);
    assert!(count("gpt-oss-20b") > count("gpt-4o") + 50);
}

#[test]
fn tokenizers_that_count_differently_have_different_ids() {
    let others = [
        Tokenizer::estimate(),
        Tokenizer::openai("gpt-4").unwrap(),
        Tokenizer::openai("gpt-4o").unwrap(),
        real(),
        with_template(CHATML),
    ];
    for (place, tokenizer) in others.iter().enumerate() {
        for (other_place, other) in others.iter().enumerate() {
            assert_eq!(tokenizer.id() == other.id(), place == other_place, "{tokenizer:?} {other:?}");
        }
    }
    assert_eq!(real().id(), load(&real_folder().join("tokenizer.json")).id());
    assert_eq!(Tokenizer::openai("gpt-5").unwrap().id(), Tokenizer::openai("openai/gpt-4o-mini").unwrap().id());
    // A template does not change the count of a text.
    assert_eq!(with_template(CHATML).id(), with_template("{{ messages[0].content }}").id());
    // These ids are in stored indexes: changing one invalidates every stored count.
    assert_eq!(Tokenizer::estimate().id(), 17_404_590_954_025_886_839);
    assert_eq!(Tokenizer::openai("gpt-4o").unwrap().id(), 4_781_218_524_802_800_287);
}

#[test]
fn only_openais_tokens_add_up() {
    assert!(Tokenizer::openai("gpt-4").unwrap().adds_up());
    assert!(!Tokenizer::estimate().adds_up() && !real().adds_up());
}

#[test]
fn a_tokenizer_is_shown_by_its_method_and_its_id() {
    let tokenizer = Tokenizer::estimate();
    assert_eq!(format!("{tokenizer:?}"), format!("Tokenizer {{ kind: Estimate, id: {} }}", tokenizer.id()));
}

#[test]
fn no_openai_tokenizer_for_another_model() {
    assert!(Tokenizer::openai("meta-llama/Llama-3.1-8B-Instruct").is_none());
    assert_eq!(Tokenizer::openai("gpt-4o").unwrap().kind().label(), "tiktoken");
    assert_eq!(Tokenizer::estimate().kind().label(), "estimate");
}

#[test]
fn clones_count_in_other_threads() {
    let tokenizer = with_template(CHATML);
    let messages = [json!({"role": "user", "content": "Hi"})];
    let expected = tokenizer.count_conversation(&messages);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let (tokenizer, messages) = (tokenizer.clone(), &messages);
            scope.spawn(move || assert_eq!(tokenizer.count_conversation(messages), expected));
        }
    });
}

fn all() -> &'static [Tokenizer] {
    static ALL: OnceLock<Vec<Tokenizer>> = OnceLock::new();
    ALL.get_or_init(|| {
        vec![
            Tokenizer::estimate(),
            Tokenizer::openai("gpt-4").unwrap(),
            Tokenizer::openai("gpt-4o").unwrap(),
            Tokenizer::openai("gpt-oss-20b").unwrap(),
            real(),
            with_template(CHATML),
            with_template("{{ raise_exception('no') }}"),
        ]
    })
}

const PARTS: [&str; 10] =
    ["<|im_start|>", "<|im_end|>", "<|endoftext|>", "[SEP]", "<s>", "{{", "{% raw %}", "\n", " ", "\u{3000}"];

/// Any text, and texts with special tokens of some tokenizers.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[ -~\\n]{0,200}",
        proptest::collection::vec(proptest::sample::select(&PARTS[..]), 0..20).prop_map(|parts| parts.concat()),
    ]
}

fn messages() -> impl Strategy<Value = Vec<Value>> {
    let role = proptest::sample::select(&["system", "user", "assistant", "tool", ""][..]);
    let message = (role, text()).prop_map(|(role, content)| json!({"role": role, "content": content}));
    proptest::collection::vec(message, 0..6)
}

proptest! {
    #[test]
    fn a_conversation_costs_at_least_its_contents(messages in messages()) {
        for tokenizer in all() {
            let contents = messages.iter().map(|message| message["content"].as_str().unwrap());
            let contents: u64 = contents.map(|content| tokenizer.count(content)).sum();
            let counted = tokenizer.count_conversation(&messages);
            prop_assert!(counted >= contents, "{tokenizer:?}: {counted} < {contents}");
            prop_assert!(counted > 0, "{tokenizer:?}");
        }
    }

    #[test]
    fn a_text_has_at_most_a_token_per_byte(text in text()) {
        for tokenizer in all() {
            prop_assert!(tokenizer.count(&text) <= text.len() as u64, "{tokenizer:?}");
        }
        prop_assert_eq!(Tokenizer::estimate().count(&text) >= 1, !text.is_empty());
    }

    #[test]
    fn odd_messages_are_counted_too(role in any::<String>(), content in text(), key in any::<String>()) {
        let odd = [
            json!({"role": role, "content": [{"type": "text", "text": content}, {"type": "text", "text": key}]}),
            json!({"role": role, "content": null, "tool_calls": [{"function": {"name": key, "arguments": content}}]}),
            json!({key: content}),
            json!(content),
            json!(7),
        ];
        for tokenizer in all() {
            prop_assert!(tokenizer.count_conversation(&odd) > 0);
        }
    }
}

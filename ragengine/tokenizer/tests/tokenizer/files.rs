//! Tests the files that are read from a folder, and the errors for invalid ones.

use ragengine_tokenizer::Tokenizer;
use serde_json::{Value, json};

use crate::support::{byte_tokenizer, folder, load};

fn count(files: &[(&str, &str)]) -> u64 {
    let tokenizer = byte_tokenizer(&["<s>"]).to_string();
    let files = [&[("tokenizer.json", tokenizer.as_str())], files].concat();
    load(folder(&files).path()).count_conversation(&[json!({"role": "user", "content": "Hi"})])
}

/// A configuration whose template writes `bytes` bytes.
fn writing(bytes: usize) -> Value {
    json!("x".repeat(bytes))
}

#[test]
fn the_template_is_found_where_transformers_finds_it() {
    let one = json!({"chat_template": writing(5)}).to_string();
    let several = json!({"chat_template": [
        {"name": "tool_use", "template": writing(6)},
        {"name": "default", "template": writing(7)}
    ]})
    .to_string();
    let no_default = json!({"chat_template": [{"name": "rag", "template": writing(6)}]}).to_string();
    let null = json!({"chat_template": null}).to_string();
    const BY_TEXTS: u64 = 1 + 2 + 4 + 3;
    for (files, expected) in [
        (&[("tokenizer_config.json", one.as_str())][..], 5),
        (&[("tokenizer_config.json", several.as_str())], 7),
        (&[("tokenizer_config.json", no_default.as_str())], BY_TEXTS),
        (&[("tokenizer_config.json", null.as_str())], BY_TEXTS),
        (&[("tokenizer_config.json", "{}")], BY_TEXTS),
        (&[], BY_TEXTS),
        (&[("tokenizer_config.json", one.as_str()), ("chat_template.jinja", "123456789")], 9),
    ] {
        assert_eq!(count(files), expected, "{files:?}");
    }
}

#[test]
fn special_tokens_are_known_by_name() {
    let template = ("chat_template.jinja", "{{ bos_token }}{{ eos_token }}{{ pad_token }}");
    let map = ("special_tokens_map.json", r#"{"bos_token": "1234", "eos_token": {"content": "<s>"}}"#);
    let config = ("tokenizer_config.json", r#"{"bos_token": {"content": "12", "lstrip": false}, "pad_token": null}"#);
    for (files, expected) in
        [(&[template][..], 0), (&[template, map], 4 + 1), (&[template, config], 2), (&[template, map, config], 2 + 1)]
    {
        assert_eq!(count(files), expected, "{files:?}");
    }
}

#[test]
fn the_path_may_be_that_of_the_file_or_of_its_folder() {
    let tokenizer = byte_tokenizer(&[]).to_string();
    let folder = folder(&[("tokenizer.json", &tokenizer), ("chat_template.jinja", "123")]);
    let (by_folder, by_file) = (load(folder.path()), load(&folder.path().join("tokenizer.json")));
    assert_eq!(by_folder.id(), by_file.id());
    assert_eq!((by_folder.count_conversation(&[]), by_file.count_conversation(&[])), (3, 3));
}

#[test]
fn truncation_and_padding_are_switched_off() {
    let mut tokenizer = byte_tokenizer(&[]);
    tokenizer["truncation"] = json!({"direction": "Right", "max_length": 8, "strategy": "LongestFirst", "stride": 0});
    tokenizer["padding"] = json!({
        "strategy": {"Fixed": 8}, "direction": "Right", "pad_to_multiple_of": null,
        "pad_id": 0, "pad_type_id": 0, "pad_token": "!"
    });
    let folder = folder(&[("tokenizer.json", &tokenizer.to_string())]);
    let tokenizer = load(folder.path());
    assert_eq!((tokenizer.count("abc"), tokenizer.count("abcdefghijkl")), (3, 12));
}

#[test]
fn a_post_processor_does_not_change_the_counts() {
    let mut tokenizer = byte_tokenizer(&["<s>"]);
    tokenizer["post_processor"] = json!({
        "type": "TemplateProcessing",
        "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {"<s>": {"id": "<s>", "ids": [256], "tokens": ["<s>"]}}
    });
    let folder = folder(&[
        ("tokenizer.json", &tokenizer.to_string()),
        ("chat_template.jinja", "{{ bos_token }}{{ messages[0].content }}"),
        ("tokenizer_config.json", r#"{"bos_token": "<s>"}"#),
    ]);
    let tokenizer = load(folder.path());
    assert_eq!(tokenizer.count("abc"), 3);
    assert_eq!(tokenizer.count_conversation(&[json!({"role": "user", "content": "abc"})]), 4);
}

#[test]
fn errors_name_the_invalid_file_and_the_reason() {
    let good = byte_tokenizer(&[]).to_string();
    let good = ("tokenizer.json", good.as_str());
    for (files, kind, file, reason) in [
        (&[][..], "missing", "", "has no tokenizer.json"),
        (&[("tokenizer.json", "")], "tokenizer", "tokenizer.json", "EOF"),
        (&[("tokenizer.json", "{\"version\": \"1.0\"}")], "tokenizer", "tokenizer.json", "not a valid tokenizer.json"),
        (&[("tokenizer.json", "[1]")], "tokenizer", "tokenizer.json", "not a valid tokenizer.json"),
        (&[good, ("tokenizer_config.json", "{")], "config", "tokenizer_config.json", "EOF"),
        (&[good, ("tokenizer_config.json", "[]")], "config", "tokenizer_config.json", "expected a map"),
        (&[good, ("tokenizer_config.json", r#"{"chat_template": 7}"#)], "config", "tokenizer_config.json", "a string"),
        (&[good, ("special_tokens_map.json", "no")], "config", "special_tokens_map.json", "expected"),
        (&[good, ("chat_template.jinja", "a\n{% if %}")], "template", "chat_template.jinja", "line 2"),
        (
            &[good, ("tokenizer_config.json", r#"{"chat_template": "{{ x "}"#)],
            "template",
            "tokenizer_config.json",
            "in line 1",
        ),
    ] {
        let folder = folder(files);
        let error = Tokenizer::from_path(folder.path()).unwrap_err();
        let message = error.to_string();
        assert_eq!(error.kind(), kind, "{message}");
        let path = folder.path().join(file).display().to_string();
        assert!(message.contains(path.trim_end_matches('/')), "{message}");
        assert!(message.contains(reason), "{reason}: {message}");
    }
}

#[test]
fn a_missing_path_and_a_binary_template_are_errors() {
    let folder = folder(&[("tokenizer.json", &byte_tokenizer(&[]).to_string())]);
    let nowhere = folder.path().join("nowhere/tokenizer.json");
    let error = Tokenizer::from_path(&nowhere).unwrap_err();
    assert_eq!(error.kind(), "io");
    assert!(error.to_string().contains("nowhere/tokenizer.json"), "{error}");
    std::fs::write(folder.path().join("chat_template.jinja"), [0xff, 0xfe]).unwrap();
    let error = Tokenizer::from_path(folder.path()).unwrap_err();
    assert!(error.to_string().contains("chat_template.jinja"), "{error}");
}

#[test]
fn a_file_that_is_too_large_is_not_read() {
    let folder = folder(&[]);
    let path = folder.path().join("model.safetensors");
    for (bytes, kind) in [(256 << 20, "tokenizer"), ((256 << 20) + 1, "too_big")] {
        std::fs::File::create(&path).unwrap().set_len(bytes).unwrap();
        let error = Tokenizer::from_path(&path).unwrap_err();
        assert_eq!(error.kind(), kind);
        assert!(error.to_string().contains("model.safetensors"), "{error}");
    }
}

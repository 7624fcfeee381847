use ragengine_errors::Fault as _;
use serde_json::{Value, json};

use super::*;
use crate::chat_body::BodyChanges;
use crate::conversation::Content;
use crate::request::ChatMode;

fn parse(body: Value) -> Result<Request, Rejection> {
    read(body.to_string())
}

/// Accepts every type in which the tests write a body.
fn read(body: impl Into<Bytes>) -> Result<Request, Rejection> {
    super::read(body.into())
}

fn hello() -> Value {
    json!([{"role": "user", "content": "Hello"}])
}

#[test]
fn the_fields_that_are_looked_at_are_read() {
    let request = parse(json!({
        "model": "m", "index_name": "docs", "context_token_ratio": 0.6, "messages": hello(), "stream": true,
        "stream_options": {"include_usage": true}, "n": 2, "max_tokens": 100, "max_completion_tokens": 50, "tools": [1]
    }))
    .unwrap();
    assert_eq!(request.index_name.as_deref(), Some("docs"));
    assert_eq!(request.context_token_ratio, Some(0.6));
    assert_eq!((request.stream, request.include_usage, request.choices), (true, true, 2));
    assert_eq!(request.max_tokens, Some(50));
    assert_eq!(request.tools.len(), 1);
}

#[test]
fn stages_are_read() {
    let pipeline = |pipeline: Value| parse(json!({"messages": hello(), "pipeline": pipeline})).map(|read| read.stages);
    let read = pipeline(json!({"feedback": true, "interactions": false, "provider": "openai/gpt-4o"})).unwrap();
    assert_eq!((read.feedback, read.interactions), (Some(true), Some(false)));
    assert_eq!((read.provider.as_deref(), read.task_category), (Some("openai/gpt-4o"), None));
    for (wrong, field) in [
        (json!([]), "pipeline"),
        (json!({"feedback": 1}), "pipeline"),
        (json!({"unknown": true}), "pipeline"),
        (json!({"provider": ""}), "pipeline.provider"),
        (json!({"provider": "x".repeat(201)}), "pipeline.provider"),
        (json!({"task_category": "a\nQ: b"}), "pipeline.task_category"),
    ] {
        let message = pipeline(wrong.clone()).unwrap_err().to_string();
        assert!(message.contains(field), "{wrong}: {message}");
    }
}

#[test]
fn citations_are_chosen_beside_the_stages_or_among_them() {
    for (fields, expected) in [
        (json!({"citations": true, "pipeline": {"citations": false}}), Some(true)),
        (json!({"citations": null, "pipeline": {"citations": false}}), Some(false)),
        (json!({"pipeline": {"citations": true}}), Some(true)),
        (json!({"citations": false}), Some(false)),
        (json!({}), None),
    ] {
        let mut body = fields.clone();
        body["messages"] = hello();
        assert_eq!(parse(body).unwrap().stages.citations, expected, "{fields}");
    }
}

#[test]
fn a_chat_mode_and_a_filter_are_read() {
    let with = |name: &str, value: Value| parse(json!({"messages": hello(), name: value}));
    for (mode, expected) in
        [(json!("context"), ChatMode::Context), (json!("condense_plus_context"), ChatMode::CondensePlusContext)]
    {
        assert_eq!(with("chat_mode", mode).unwrap().chat_mode, expected);
    }
    assert!(!with("metadata_filter", json!({"year": 2026})).unwrap().metadata_filter.is_empty());
    assert!(with("metadata_filter", json!({})).unwrap().metadata_filter.is_empty());
    for (name, wrong, kind) in [
        ("chat_mode", json!("other"), "type"),
        ("metadata_filter", json!("{}"), "type"),
        ("metadata_filter", json!({"year": {"$gt": true}}), "invalid_filter"),
    ] {
        let rejection = with(name, wrong).unwrap_err();
        assert_eq!((rejection.field(), rejection.kind()), (Some(name), kind));
    }
}

#[test]
fn null_is_absent() {
    let request = parse(json!({
        "model": null, "index_name": null, "context_token_ratio": null, "messages": hello(), "stream": null, "n": null,
        "max_tokens": null, "tools": [ ], "functions": null, "stream_options": null
    }))
    .unwrap();
    assert_eq!((request.model, request.index_name, request.context_token_ratio), (None, None, None));
    assert_eq!((request.stream, request.choices, request.max_tokens, request.tools.len()), (false, 1, None, 0));
    for options in [json!(null), json!({}), json!({"include_usage": null}), json!({"include_usage": false}), json!([1])]
    {
        let request = parse(json!({"messages": hello(), "stream_options": options})).unwrap();
        assert!(!request.include_usage, "{options}");
    }
}

#[test]
fn an_empty_index_name_is_none() {
    assert_eq!(parse(json!({"index_name": "", "messages": hello()})).unwrap().index_name, None);
}

#[test]
fn numbers_of_what_is_passed_through_are_not_judged() {
    for body in [
        json!({"messages": hello(), "max_tokens": -1}),
        json!({"messages": hello(), "n": 0}),
        json!({"messages": hello(), "index_name": "docs", "tools": [{"type": "function"}], "max_tokens": -1}),
    ] {
        let request = parse(body.clone()).unwrap_or_else(|rejection| panic!("{body}: {rejection}"));
        assert_eq!((request.max_tokens, request.choices), (None, 1));
    }
}

#[test]
fn wrong_types_name_the_field() {
    for (body, param) in [
        (json!([]), "body"),
        (json!({}), "messages"),
        (json!({"messages": "hi"}), "messages"),
        (json!({"messages": ["hi"]}), "messages[0]"),
        (json!({"messages": [{"content": "hi"}]}), "messages[0].role"),
        (json!({"messages": [{"role": "user", "content": {"a": 1}}]}), "messages[0].content"),
        (json!({"messages": [{"role": "user", "content": 1}]}), "messages[0].content"),
        (json!({"messages": [{"role": "user", "content": ["x"]}]}), "messages[0].content[0].type"),
        (json!({"messages": [{"role": "user", "content": [{"type": "text"}]}]}), "messages[0].content[0].text"),
        (
            json!({"messages": [{"role": "user", "content": [{"type": "text", "text": 1}]}]}),
            "messages[0].content[0].text",
        ),
        (json!({"messages": hello(), "index_name": 1}), "index_name"),
        (json!({"messages": hello(), "context_token_ratio": "0.5"}), "context_token_ratio"),
        (json!({"messages": hello(), "model": 1}), "model"),
        (json!({"messages": hello(), "stream": "yes"}), "stream"),
        (json!({"messages": hello(), "index_name": "docs", "n": 0}), "n"),
        (json!({"messages": hello(), "index_name": "docs", "max_tokens": -1}), "max_tokens"),
        (json!({"messages": hello(), "index_name": "docs", "max_tokens": 1.5}), "max_tokens"),
        (json!({"messages": hello(), "index_name": "docs", "max_completion_tokens": "x"}), "max_completion_tokens"),
    ] {
        let rejection = parse(body.clone()).expect_err(&body.to_string());
        assert_eq!(rejection.field(), Some(param), "{body}");
        assert!(rejection.to_string().contains("must be"), "{rejection}");
    }
    assert_eq!(read("{").unwrap_err().kind(), "json");
}

#[test]
fn the_ratio_has_bounds_with_or_without_an_index() {
    for (ratio, text) in [("0", "0"), ("0.1", "0.1"), ("0.19", "0.19"), ("0.81", "0.81"), ("1", "1"), ("-0.5", "-0.5")]
    {
        for index in ["", r#""index_name": "docs","#] {
            let body = format!(
                r#"{{{index} "context_token_ratio": {ratio}, "messages": [{{"role": "user", "content": "Hello"}}]}}"#
            );
            let rejection = read(body).unwrap_err();
            assert_eq!(
                rejection.to_string(),
                format!("Invalid context_token_ratio: {text}. Must be between 0.2 and 0.8.")
            );
        }
    }
    // A long number is not quoted.
    for (digits, kind) in [(999, "context_token_ratio"), (1000, "type")] {
        let body = format!(r#"{{"context_token_ratio": {}, "messages": []}}"#, "1".repeat(digits));
        assert_eq!(read(body).unwrap_err().kind(), kind, "{digits}");
    }
    for ratio in [0.2, 0.5, 0.8] {
        assert!(parse(json!({"messages": hello(), "context_token_ratio": ratio})).is_ok());
    }
}

#[test]
fn text_parts_are_joined_by_a_line_break() {
    let request = parse(json!({"messages": [
        {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}
    ]}))
    .unwrap();
    assert_eq!(request.conversation.text(0), "a\nb");
}

#[test]
fn what_is_forwarded_is_what_was_sent_without_our_fields() {
    let request = parse(json!({
        "zeta": {"b": 1, "a": [1.50, null]}, "index_name": "", "messages": hello(),
        "context_token_ratio": 0.5, "seed": 7
    }))
    .unwrap();
    assert!(!request.body.is_forwardable_as_sent());
    let body = forwarded(&request, &BodyChanges { default_model: Some("m".to_owned()), ..BodyChanges::default() });
    assert_eq!(
        body,
        r#"{"zeta":{"b":1,"a":[1.5,null]},"messages":[{"role":"user","content":"Hello"}],"seed":7,"model":"m"}"#
    );
    assert!(parse(json!({"model": "m", "messages": hello()})).unwrap().body.is_forwardable_as_sent());
    assert!(!parse(json!({"messages": hello()})).unwrap().body.is_forwardable_as_sent());
}

#[test]
fn numbers_and_escapes_go_on_as_they_were_sent() {
    let sent = concat!(
        r#"{"explain": true, "model":"m", "x": 1.50, "big": 123456789012345678901234567890, "#,
        r#""messages" : [{"role":"user","content":"\u00e4\/"}]}"#,
    );
    let request = read(sent).unwrap();
    assert_eq!(
        forwarded(&request, &BodyChanges::default()),
        concat!(
            r#"{"model":"m","x":1.50,"big":123456789012345678901234567890,"#,
            r#""messages":[{"role":"user","content":"\u00e4\/"}]}"#,
        )
    );
    assert_eq!(request.conversation.text(0), "ä/");
}

#[test]
fn other_messages_go_on_in_the_place_of_those_that_were_sent() {
    let request = parse(json!({"model": "m", "messages": hello(), "seed": 7})).unwrap();
    let messages =
        vec![json!({"role": "system", "content": "Be brief."}), json!({"role": "user", "content": "Good day"})];
    let changes = BodyChanges { messages: Some(messages), ..BodyChanges::default() };
    assert_eq!(
        forwarded(&request, &changes),
        concat!(
            r#"{"model":"m","messages":[{"role":"system","content":"Be brief."},"#,
            r#"{"role":"user","content":"Good day"}],"seed":7}"#,
        )
    );
    assert_eq!(changes.about_bytes(), "Be brief.Good day".len());
}

#[test]
fn a_conversation_is_as_large_as_its_messages() {
    let (first, second) = (r#"{"role":"user", "content":"a"}"#, r#"{"role":"assistant","content":null}"#);
    let request = read(format!(r#"{{"messages": [{first}, {second}], "model": "m"}}"#)).unwrap();
    assert_eq!(request.conversation.bytes(), first.len() + second.len());
}

#[test]
fn a_model_that_is_null_gets_the_default_in_its_place() {
    let request = parse(json!({"model": null, "messages": hello()})).unwrap();
    let body = forwarded(&request, &BodyChanges { default_model: Some("m".to_owned()), ..BodyChanges::default() });
    assert_eq!(body, r#"{"model":"m","messages":[{"role":"user","content":"Hello"}]}"#);
}

#[test]
fn a_field_that_is_looked_at_is_given_once() {
    let body = r#"{"model": "a", "messages": [], "model": "b"}"#;
    assert_eq!(read(body).unwrap_err().to_string(), "model must be given once.");
}

#[test]
fn what_is_not_looked_at_costs_nothing_however_deep_it_is() {
    let deep = format!("{}{}", "[".repeat(50_000), "]".repeat(50_000));
    let body = format!(r#"{{"model":"m","x":{deep},"messages":[{{"role":"user","content":"a","y":{deep}}}]}}"#);
    let request = read(body.clone()).unwrap();
    assert_eq!(request.body.bytes(), &body);
    assert_eq!(forwarded(&request, &BodyChanges::default()), body);
}

#[test]
fn a_conversation_has_bounds() {
    let message = |more: &str| format!(r#"{{"messages":[{{"role":"user","content":"a"{more}}}]}}"#);
    let deep = format!(r#","y":{}{}"#, "[".repeat(100), "]".repeat(100));
    let wide = format!(r#","y":[{}0]"#, "0,".repeat(200_000));
    for (more, wrong) in [(deep, "nested more than 64 deep"), (wide, "more than 200000 values")] {
        let rejection = read(message(&more)).unwrap().conversation.values().unwrap_err();
        assert_eq!(rejection.field(), Some("messages"));
        assert!(rejection.to_string().contains(wrong), "{rejection}");
    }
    let many = format!(r#"{{"messages":[{}]}}"#, vec![r#"{"role":"user","content":"a"}"#; 10_001].join(","));
    assert_eq!(read(many).unwrap_err().to_string(), "messages must be a list of at most 10000 messages.");
}

#[test]
fn content_that_says_nothing_is_empty() {
    for (content, expected) in [
        (json!(null), Content::Empty),
        (json!(""), Content::Empty),
        (json!([]), Content::Empty),
        (json!([{"type": "text", "text": ""}]), Content::Empty),
        (json!([{"type": "text", "text": "a"}]), Content::Text),
        (json!([{"type": "text", "text": ""}, {"type": "text", "text": ""}]), Content::Text),
        (json!(" "), Content::Text),
        (json!([{"type": "text", "text": "a"}, {"type": "image_url"}, 7]), Content::Other),
    ] {
        let request = parse(json!({"messages": [{"role": "user", "content": content}]})).unwrap();
        assert_eq!(request.conversation.messages[0].content, expected, "{content}");
    }
}

fn forwarded(request: &Request, changes: &BodyChanges) -> String {
    String::from_utf8(request.body.forwardable(changes)).unwrap()
}

#[test]
fn max_tokens_is_lowered_where_it_stands_and_nowhere_else() {
    let lowered = |mut body: Value| {
        body["messages"] = hello();
        let request = parse(body).unwrap();
        let body = forwarded(&request, &BodyChanges { max_tokens: Some(100), ..BodyChanges::default() });
        let mut body: Value = serde_json::from_str(&body).unwrap();
        body.as_object_mut().unwrap().remove("messages");
        body
    };
    assert_eq!(lowered(json!({"max_tokens": 500})), json!({"max_tokens": 100}));
    assert_eq!(
        lowered(json!({"max_tokens": 50, "max_completion_tokens": 200})),
        json!({"max_tokens": 50, "max_completion_tokens": 100})
    );
    assert_eq!(lowered(json!({"model": "m", "seed": 500})), json!({"model": "m", "seed": 500}));
}

#[test]
fn models_are_found_whatever_the_case_of_the_field() {
    let models = |body: &str| read(body.to_owned()).map(|request| request.other_models);
    let messages = r#""messages":[{"role":"user","content":"Why?"}]"#;
    for (fields, expected) in [
        (r#""model":"a""#, vec![]),
        (r#""model":"a","models":["b","c"]"#, vec!["b", "c"]),
        (r#""model":"a","Model":"b","MODELS":["c"]"#, vec!["b", "c"]),
        // The long s, which Go's decoder treats as an s.
        (r#""model\u017f":["b"]"#, vec!["b"]),
        (r#""models":[{"name":"b"}],"modeling":"c""#, vec![r#"{"name":"b"}"#]),
    ] {
        assert_eq!(models(&format!("{{{fields},{messages}}}")).unwrap(), expected, "{fields}");
    }
    // With the quotes around it, a name has at most 1000 bytes.
    for field in ["model", "models", "Model", "index_name"] {
        let with_name = |bytes: usize| models(&format!(r#"{{"{field}":"{}",{messages}}}"#, "a".repeat(bytes)));
        assert_eq!([with_name(998).is_ok(), with_name(999).is_ok()], [true, false], "{field}");
    }
}

//! Each reason to pass a request through, the texts that are searched for, and further cases.

use serde_json::{Value, json};

use super::*;

fn planned(body: Value) -> Result<Plan, Rejection> {
    plan(&crate::openai::read(body.to_string().into()).unwrap())
}

fn with_messages(messages: Value) -> Result<Plan, Rejection> {
    planned(json!({"model": "gpt-4", "index_name": "docs_index", "messages": messages}))
}

fn turn(messages: Value) -> Turn {
    match with_messages(messages).unwrap() {
        Plan::Retrieve(turn) => turn,
        Plan::PassThrough(bypass) => panic!("passed through: {bypass:?}"),
    }
}

#[test]
fn bypass_1_no_index_specified() {
    let messages = json!([{"role": "user", "content": "Hello, how are you?"}]);
    assert_eq!(planned(json!({"model": "gpt-4", "messages": messages})), Ok(Plan::PassThrough(Bypass::NoIndex)));
    assert_eq!(
        planned(json!({"model": "gpt-4", "index_name": "", "messages": messages, "n": 3})),
        Ok(Plan::PassThrough(Bypass::NoIndex))
    );
}

#[test]
fn bypass_2_tools_or_functions_present() {
    for (field, value) in [
        ("tools", json!([{"type": "function", "function": {"name": "get_weather"}}])),
        ("functions", json!([{"name": "get_weather"}])),
    ] {
        let messages = json!([{"role": "user", "content": "What's the weather?"}]);
        let body = json!({"index_name": "my_index", "messages": &messages, field: value});
        assert_eq!(planned(body), Ok(Plan::PassThrough(Bypass::Tools)), "{field}");
        // Some clients send an empty list instead of leaving the field out.
        let body = json!({"index_name": "my_index", "messages": messages, field: []});
        assert!(matches!(planned(body), Ok(Plan::Retrieve(_))), "{field}");
    }
}

#[test]
fn bypass_3_unsupported_message_roles() {
    for role in ["function", "tool", "critic"] {
        let messages = json!([{"role": role, "content": "Weather data: 75°F"}, {"role": "user", "content": "Thanks!"}]);
        assert_eq!(with_messages(messages), Ok(Plan::PassThrough(Bypass::Role)), "{role}");
    }
}

#[test]
fn bypass_4_non_text_content_in_user_messages() {
    let picture = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}});
    let question = json!({"role": "user", "content": [{"type": "text", "text": "What's in this image?"}, picture]});
    assert_eq!(with_messages(json!([question])), Ok(Plan::PassThrough(Bypass::Content)));
    let earlier =
        json!([question, {"role": "assistant", "content": "A cat."}, {"role": "user", "content": "Which colour?"}]);
    assert_eq!(with_messages(earlier), Ok(Plan::PassThrough(Bypass::Content)));
    // The prompt has only the texts of these messages.
    for role in ["system", "developer"] {
        let parts = json!([{"type": "text", "text": "Be brief."}, {"type": "image_url", "image_url": {"url": "x"}}]);
        let messages = json!([{"role": role, "content": parts}, {"role": "user", "content": "Hi"}]);
        assert_eq!(with_messages(messages), Ok(Plan::PassThrough(Bypass::Content)), "{role}");
    }
}

#[test]
fn each_reason_to_pass_a_request_through_has_a_name() {
    let reasons = [Bypass::NoIndex, Bypass::Tools, Bypass::Role, Bypass::Content].map(Bypass::reason);
    assert_eq!(reasons, ["no_index", "tools", "role", "content"]);
}

#[test]
fn example_1_simple_user_query() {
    let turn = turn(json!([
        {"role": "system", "content": "You are a helpful assistant."},
        {"role": "user", "content": "What is KAITO?"}
    ]));
    assert_eq!(turn, Turn { user_prompt: "What is KAITO?".into(), prompt_messages: vec![1], history: vec![0] });
}

#[test]
fn example_2_multi_turn_conversation() {
    let turn = turn(json!([
        {"role": "system", "content": "You are a helpful assistant."},
        {"role": "user", "content": "What is KAITO?"},
        {"role": "assistant", "content": "KAITO is a Kubernetes operator for AI workloads."},
        {"role": "user", "content": "How do I install it?"}
    ]));
    assert_eq!(turn.user_prompt, "How do I install it?");
    assert_eq!((turn.prompt_messages, turn.history), (vec![3], vec![0, 1, 2]));
}

#[test]
fn example_3_multiple_consecutive_user_messages() {
    let turn = turn(json!([
        {"role": "system", "content": "You are a helpful assistant."},
        {"role": "user", "content": "What is KAITO?"},
        {"role": "assistant", "content": "KAITO is a Kubernetes operator."},
        {"role": "user", "content": "Tell me more about it."},
        {"role": "user", "content": "Specifically about GPU support."}
    ]));
    assert_eq!(turn.user_prompt, "Tell me more about it.\n\nSpecifically about GPU support.");
    assert_eq!((turn.prompt_messages, turn.history), (vec![3, 4], vec![0, 1, 2]));
}

#[test]
fn example_4_no_user_messages_after_assistant() {
    let rejection = with_messages(json!([
        {"role": "user", "content": "What is KAITO?"},
        {"role": "assistant", "content": "KAITO is a Kubernetes operator."}
    ]));
    assert_eq!(rejection, Err(Rejection::NoUserPrompt));
    assert_eq!(with_messages(json!([])), Err(Rejection::NoUserPrompt));
    assert_eq!(with_messages(json!([{"role": "user", "content": "  \n"}])), Err(Rejection::NoUserPrompt));
}

#[test]
fn a_system_message_between_user_messages_is_history() {
    let turn = turn(json!([
        {"role": "user", "content": "a"}, {"role": "developer", "content": "be brief"}, {"role": "user", "content": "b"}
    ]));
    assert_eq!((turn.user_prompt.as_str(), turn.history), ("a\n\nb", vec![1]));
}

#[test]
fn assistant_null_is_empty_and_user_null_is_refused() {
    assert!(
        with_messages(json!([
            {"role": "user", "content": "a"}, {"role": "assistant", "content": null}, {"role": "user", "content": "b"}
        ]))
        .is_ok()
    );
    for content in [json!(null), json!("")] {
        let messages = json!([{"role": "user", "content": "a"}, {"role": "user", "content": content}]);
        assert_eq!(with_messages(messages), Err(Rejection::EmptyUserContent(1)));
    }
}

#[test]
fn several_choices_are_refused_after_the_bypass_rules() {
    let messages = json!([{"role": "user", "content": "a"}]);
    assert_eq!(planned(json!({"index_name": "i", "messages": messages, "n": 2})), Err(Rejection::SeveralChoices));
    assert_eq!(
        planned(json!({"index_name": "i", "messages": messages, "n": 2, "tools": [1]})),
        Ok(Plan::PassThrough(Bypass::Tools))
    );
}

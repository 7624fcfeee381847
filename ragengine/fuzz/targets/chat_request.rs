//! Fuzzes the bodies of chat requests. A body is refused or accepted; an accepted one can be planned, forwarded and
//! answered.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ragengine_pipeline::chat_body::BodyChanges;
use ragengine_pipeline::conversation::Role;
use ragengine_pipeline::openai;
use ragengine_pipeline::plan::{Plan, Turn, plan};
use ragengine_pipeline::prompt::{self, ConversationInput};
use ragengine_pipeline::request::{HistoryFormat, Request};
use serde_json::{Map, Value};

/// Fields that are not forwarded to the language model.
const OWN_FIELDS: [&str; 4] = ["index_name", "context_token_ratio", "chat_mode", "explain"];

const MODEL: &str = "default-model";

const CONTEXT: &str = "CONTEXT";

/// Less than any real request asks for.
const MAX_TOKENS: u64 = 7;

fuzz_target!(|body: &[u8]| {
    if let Ok(request) = openai::read(body.to_vec().into()) {
        check_forwarded_fields(&request);
        check_lowered_limit(&request);
        if let (Ok(Plan::Retrieve(turn)), Ok(sent)) = (plan(&request), request.conversation.values()) {
            check_plan(&request, &sent, &turn);
        }
    }
});

/// Returns the forwarded body.
fn forwarded(request: &Request, default_model: Option<&str>, max_tokens: Option<u64>) -> Map<String, Value> {
    let default_model = default_model.map(str::to_owned);
    let body = request.body.forwardable(&BodyChanges { default_model, max_tokens, messages: None });
    serde_json::from_slice(&body).unwrap_or_default()
}

/// Checks that our fields are removed, that all other fields are unchanged and in the same order, and that a model is
/// added if the request names none.
fn check_forwarded_fields(request: &Request) {
    // A body that is nested too deeply for a `Value` is forwarded but cannot be compared here.
    let Ok(sent) = serde_json::from_slice::<Map<String, Value>>(request.body.bytes()) else { return };
    let expected = |body: &Map<String, Value>| -> Vec<(String, Value)> {
        let fields = body.iter().filter(|(name, _)| !OWN_FIELDS.contains(&name.as_str()));
        fields.map(|(name, value)| (name.clone(), value.clone())).collect()
    };
    let fields = |body: Map<String, Value>| body.into_iter().collect::<Vec<_>>();
    assert_eq!(fields(forwarded(request, None, None)), expected(&sent));

    let mut with_model = sent.clone();
    if request.model.is_none() {
        with_model.insert("model".to_owned(), Value::from(MODEL));
    }
    assert_eq!(fields(forwarded(request, Some(MODEL), None)), expected(&with_model));

    let is_as_sent = forwarded(request, Some(MODEL), None) == sent;
    assert!(is_as_sent || !request.body.is_forwardable_as_sent());
}

/// Checks that an existing limit of the answer is lowered, and that none is added.
fn check_lowered_limit(request: &Request) {
    let body = request.body.forwardable(&BodyChanges { max_tokens: Some(MAX_TOKENS), ..BodyChanges::default() });
    let lowered = openai::read(body.into()).expect("the original was accepted");
    assert_eq!(lowered.max_tokens, request.max_tokens.map(|sent| sent.min(MAX_TOKENS)));
    let texts = |request: &Request| {
        (0..request.conversation.messages.len()).map(|at| request.conversation.text(at)).collect::<Vec<_>>()
    };
    assert_eq!(texts(&lowered), texts(request));
}

/// Checks that every message is in the question or in the history, and that the finished conversation has one system
/// message, which comes first.
fn check_plan(request: &Request, sent: &[Value], turn: &Turn) {
    let mut positions = [turn.history.as_slice(), turn.prompt_messages.as_slice()].concat();
    positions.sort_unstable();
    assert_eq!(positions, (0..request.conversation.messages.len()).collect::<Vec<_>>());

    let history_format = HistoryFormat::Messages;
    let input = ConversationInput { conversation: &request.conversation, sent, turn, history_format };
    let finished = prompt::messages(input, CONTEXT);
    let is_system = |message: &Value| matches!(message["role"].as_str(), Some("system" | "developer"));
    let system: Vec<&Value> = finished.iter().filter(|message| is_system(message)).collect();
    assert_eq!(system, [&finished[0]]);
    assert!(finished[0]["content"].as_str().is_some_and(|content| content.ends_with(CONTEXT)));
    let others =
        turn.history.iter().filter(|&&position| request.conversation.messages[position].role != Role::System).count();
    assert_eq!(finished.len(), 1 + others + 1);
}

//! The chat request of a question, with the newest part of its session's history.

use std::sync::Arc;

use ragengine_client::wire::ChatCompletionRequest;
use ragengine_compute::{self as compute, Waiter};
use ragengine_pipeline::budget::history_tokens;
use ragengine_pipeline::history::{PastTurn, newest};
use ragengine_pipeline::openai;
use ragengine_pipeline::request::Request;
use ragengine_settings::ChatEndpoint;
use serde_json::{Map, Value, json};

use super::Question;
use crate::app::App;
use crate::chat::question::window_shares;
use crate::chat::served::{COUNTED_AT_ONCE_BYTES, Served};
use crate::error::ApiError;
use crate::retrieval::stages::Endpoint;

/// The chat template of a turn takes as long to fill in as about this many bytes take to count.
const BYTES_OF_TEMPLATE: usize = 256;

/// The question beside which each turn is counted.
const COUNTED_QUESTION: &str = "And then?";

/// The newest turns of a session that fit into the context window.
#[derive(Default)]
pub(super) struct History {
    /// The turns, oldest first.
    pub turns: Vec<PastTurn>,
    /// Their tokens.
    pub tokens: u64,
}

impl History {
    /// The newest of these turns that fit beside the question. Counts long ones on a compute thread, until the client
    /// disconnects.
    ///
    /// # Errors
    ///
    /// When the server is shutting down.
    pub async fn fitting(
        app: &App,
        served: &Served,
        (question, question_tokens): (&Question, u64),
        turns: Vec<PastTurn>,
    ) -> Result<Self, ApiError> {
        if turns.is_empty() {
            return Ok(Self::default());
        }
        let bytes: usize = turns.iter().map(|turn| BYTES_OF_TEMPLATE + turn.question.len() + turn.answer.len()).sum();
        let shares = window_shares(&app.settings, question.endpoint, served.window_tokens);
        let counter = served.counter.clone();
        let fit = move |caller: &Waiter| {
            let count = |messages: &[Map<String, Value>]| {
                let messages: Vec<Value> = messages.iter().cloned().map(Value::from).collect();
                counter.conversation(&messages, caller)
            };
            let tokens_of = turn_counter(count);
            let of_turn = |turn: &PastTurn| if caller.has_left() { u64::MAX } else { tokens_of(turn) };
            let (turns, tokens) = newest(turns, history_tokens(&shares, question_tokens), of_turn);
            Ok::<_, ApiError>(Self { turns, tokens })
        };
        if bytes <= COUNTED_AT_ONCE_BYTES {
            return fit(&Waiter::default());
        }
        compute::run_on_thread(fit).await
    }

    /// The chat request of a question after this history.
    ///
    /// # Errors
    ///
    /// [`ragengine_pipeline::Rejection`] when the filter is malformed.
    pub async fn request(self, app: &App, question: Question, index_name: String) -> Result<Arc<Request>, ApiError> {
        let messages = self.turns.iter().flat_map(messages);
        let request = ChatCompletionRequest {
            messages: messages.chain([message("user", &question.query)]).collect(),
            model: question.model,
            index_name: Some(index_name),
            metadata_filter: question.metadata_filter,
            pipeline: question.pipeline,
            explain: Some(question.explain),
            stream: Some(question.stream),
            more: parameters(&app.settings.endpoints.chat, question.endpoint),
            ..ChatCompletionRequest::default()
        };
        let bytes = self.turns.iter().map(|turn| turn.question.len() + turn.answer.len()).sum::<usize>();
        let read = move |_: &_| {
            let body = serde_json::to_vec(&request).map_err(|error| ApiError::Internal(error.to_string()))?;
            Ok::<_, ApiError>(Arc::new(openai::read(body.into())?))
        };
        compute::run(bytes + question.query.len(), read).await
    }
}

/// The parameters of the language model that the settings fix for `/chat`.
fn parameters(settings: &ChatEndpoint, endpoint: Endpoint) -> Map<String, Value> {
    if endpoint != Endpoint::Chat {
        return Map::new();
    }
    let fixed = [("temperature", json!(settings.temperature)), ("max_tokens", json!(settings.max_tokens))];
    fixed.map(|(name, value)| (name.to_owned(), value)).into_iter().collect()
}

/// Counts the tokens of turns, given what counts those of a conversation.
///
/// A template may add instructions to a conversation, and many need a question at its end. So a turn has what it adds
/// to a question. Any question does, because a template sets a question apart from what is before it: a short one
/// saves counting a long one for every turn. The count of the whole conversation decides later what fits beside it.
fn turn_counter(count: impl Fn(&[Map<String, Value>]) -> u64) -> impl Fn(&PastTurn) -> u64 {
    let question = message("user", COUNTED_QUESTION);
    let alone = count(std::slice::from_ref(&question));
    move |turn| {
        let [asked, answered] = messages(turn);
        count(&[asked, answered, question.clone()]).saturating_sub(alone)
    }
}

fn messages(turn: &PastTurn) -> [Map<String, Value>; 2] {
    [message("user", &turn.question), message("assistant", &turn.answer)]
}

fn message(role: &str, content: &str) -> Map<String, Value> {
    [("role", json!(role)), ("content", json!(content))]
        .map(|(name, value)| (name.to_owned(), value))
        .into_iter()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_has_what_it_adds_to_a_question() {
        // A template with instructions, and with marks around each message.
        let count = |messages: &[Map<String, Value>]| {
            let lengths = messages.iter().map(|message| 3 + message["content"].as_str().unwrap().len());
            100 + lengths.sum::<usize>() as u64
        };
        let tokens_of = turn_counter(count);
        for (question, answer) in [("Due?", "In May."), ("", ""), (&*"long ".repeat(1000), "No.")] {
            let turn = PastTurn { question: question.to_owned(), answer: answer.to_owned() };
            assert_eq!(tokens_of(&turn), (6 + question.len() + answer.len()) as u64, "{turn:?}");
        }
    }

    #[test]
    fn the_question_alone_is_counted_once() {
        let counted = std::cell::RefCell::new(Vec::new());
        let tokens_of = turn_counter(|messages| {
            counted.borrow_mut().push(messages.len());
            messages.iter().map(|message| message["content"].as_str().unwrap().len() as u64).sum()
        });
        let turn = PastTurn { question: "a".to_owned(), answer: "b".to_owned() };
        assert_eq!([tokens_of(&turn), tokens_of(&turn)], [2, 2]);
        assert_eq!(*counted.borrow(), [1, 3, 3]);
    }
}

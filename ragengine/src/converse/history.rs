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
        let question_bytes = question.query.len();
        let shares = window_shares(&app.settings, question.endpoint, served.window_tokens);
        let (counter, question) = (served.counter.clone(), message("user", &question.query));
        let fit = move |caller: &Waiter| {
            let count = |messages: &[Map<String, Value>]| {
                let messages: Vec<Value> = messages.iter().cloned().map(Value::from).collect();
                counter.conversation(&messages, caller)
            };
            // The question is in every count, because a template may add instructions to a conversation.
            let of_turn = |turn: &PastTurn| {
                let [asked, answered] = messages(turn);
                if caller.has_left() {
                    return u64::MAX;
                }
                count(&[asked, answered, question.clone()]).saturating_sub(question_tokens)
            };
            let (turns, tokens) = newest(turns, history_tokens(&shares, question_tokens), of_turn);
            Ok::<_, ApiError>(Self { turns, tokens })
        };
        if bytes + question_bytes <= COUNTED_AT_ONCE_BYTES {
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

fn messages(turn: &PastTurn) -> [Map<String, Value>; 2] {
    [message("user", &turn.question), message("assistant", &turn.answer)]
}

fn message(role: &str, content: &str) -> Map<String, Value> {
    [("role", json!(role)), ("content", json!(content))]
        .map(|(name, value)| (name.to_owned(), value))
        .into_iter()
        .collect()
}

//! The chat request of a question, with the newest part of its session's history.

use std::sync::Arc;

use ragengine_client::wire::{ChatCompletionRequest, QueryRequest};
use ragengine_compute::Waiter;
use ragengine_pipeline::budget::history_tokens;
use ragengine_pipeline::history::{PastTurn, newest};
use ragengine_pipeline::openai;
use ragengine_pipeline::request::Request;
use serde_json::{Map, Value, json};

use crate::app::App;
use crate::chat::question::window_shares;
use crate::chat::served::Served;
use crate::error::ApiError;

/// The newest turns of a session that fit into the context window.
pub(super) struct History {
    /// The turns, oldest first.
    pub turns: Vec<PastTurn>,
    /// Their tokens.
    pub tokens: u64,
}

impl History {
    /// The newest of these turns that fit beside the question. Counts long ones on a compute thread.
    ///
    /// # Errors
    ///
    /// When the server is shutting down.
    pub async fn fitting(app: &App, served: &Served, question: &str, turns: Vec<PastTurn>) -> Result<Self, ApiError> {
        let shares = window_shares(&app.settings, served.window_tokens);
        let (counter, question) = (served.counter.clone(), message("user", question));
        let bytes = turns.iter().map(|turn| turn.question.len() + turn.answer.len()).sum();
        let fit = move |caller: &Waiter| {
            let count = |messages: &[Map<String, Value>]| {
                let messages: Vec<Value> = messages.iter().cloned().map(Value::from).collect();
                counter.conversation(&messages, caller)
            };
            let max_tokens = history_tokens(&shares, count(&[question]));
            let turns = newest(turns, max_tokens, |turn| count(&messages(turn)));
            let all: Vec<Map<String, Value>> = turns.iter().flat_map(messages).collect();
            let tokens = if all.is_empty() { 0 } else { count(&all) };
            Ok::<_, ApiError>(Self { turns, tokens })
        };
        ragengine_compute::run(bytes, fit).await
    }

    /// The chat request of a question after this history.
    ///
    /// # Errors
    ///
    /// [`ragengine_pipeline::Rejection`] when the filter is malformed.
    pub async fn request(self, question: QueryRequest, index_name: String) -> Result<Arc<Request>, ApiError> {
        let messages = self.turns.iter().flat_map(messages);
        let request = ChatCompletionRequest {
            messages: messages.chain([message("user", &question.query)]).collect(),
            index_name: Some(index_name),
            metadata_filter: question.metadata_filter,
            pipeline: question.pipeline,
            explain: Some(question.explain),
            stream: Some(question.stream),
            ..ChatCompletionRequest::default()
        };
        let bytes = self.turns.iter().map(|turn| turn.question.len() + turn.answer.len()).sum::<usize>();
        let read = move |_: &_| {
            let body = serde_json::to_vec(&request).map_err(|error| ApiError::Internal(error.to_string()))?;
            Ok::<_, ApiError>(Arc::new(openai::read(body.into())?))
        };
        ragengine_compute::run(bytes + question.query.len(), read).await
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

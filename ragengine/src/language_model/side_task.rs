//! Small tasks for the language model while an answer is prepared: to rewrite the question, to order passages.

use std::sync::Arc;

use axum::http::HeaderValue;
use ragengine_errors::Fault as _;
use ragengine_pipeline::side_prompt::SidePrompt;
use serde_json::{Map, Value, json};

use super::span::add_usage;
use super::{LanguageModel, LlmError, Origin, Question};

/// Gives tasks to the language model. Each waits for its turn like a chat and gives the turn back with its reply. The
/// answer itself waits for its own turn later, so no task waits for the answer that needs it.
#[derive(Clone)]
pub struct SideTasks {
    language_model: Arc<LanguageModel>,
    /// The model of the answer.
    answer_model: Option<String>,
    request_id: HeaderValue,
}

impl SideTasks {
    /// Tasks for the answer to one request, whose id they have.
    pub fn new(language_model: &Arc<LanguageModel>, answer_model: Option<&str>, request_id: &HeaderValue) -> Self {
        Self {
            language_model: Arc::clone(language_model),
            answer_model: answer_model.map(str::to_owned),
            request_id: request_id.clone(),
        }
    }

    /// Whether there is a language model for tasks. The built-in one only quotes.
    pub fn are_possible(&self) -> bool {
        self.language_model.is_endpoint()
    }

    /// The id of the request.
    pub fn request_id(&self) -> &str {
        self.request_id.to_str().unwrap_or_default()
    }

    /// The words of `model`, or of the model of the answer. The caller limits the time.
    ///
    /// # Errors
    ///
    /// [`LlmError`] if there is no usable reply.
    pub async fn ask(&self, model: Option<&str>, prompt: &SidePrompt, max_tokens: u32) -> Result<String, LlmError> {
        // The same task gets the same reply.
        let parameters = [("temperature", json!(0)), ("max_tokens", json!(max_tokens))];
        let parameters: Map<String, Value> =
            parameters.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let model = model.or(self.answer_model.as_deref());
        let origin = Origin { request_id: self.request_id.clone(), room: None };
        let question = Question::of(model, prompt.messages(), parameters).asked_by(origin);
        let span = self.language_model.span(&question);
        let answer = span.follow(self.language_model.complete(question)).await;
        match &answer {
            Ok(answer) => answer.said.usage.iter().for_each(|usage| add_usage(&span, *usage)),
            Err(error) => span.failed(error.kind()),
        }
        span.end();
        Ok(answer?.text())
    }
}

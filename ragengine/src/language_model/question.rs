use std::sync::Arc;

use axum::http::HeaderValue;
use bytes::Bytes;
use ragengine_pipeline::chat_body::BodyChanges;
use ragengine_pipeline::request::Request;
use ragengine_traces::Span;
use serde_json::{Map, Value, json};

use super::LlmError;
use super::extractive::Quotable;
use super::span::Facts;
use crate::admission::Held;

/// The request that a question belongs to.
pub struct Origin {
    /// The id of the request, which is sent to the endpoint.
    pub request_id: HeaderValue,
    /// The memory reserved for the caller's body, held until the language model has the question.
    pub room: Option<Arc<Held>>,
}

/// A question for the language model.
pub struct Question {
    pub(super) origin: Option<Origin>,
    pub(super) content: Content,
    pub(super) facts: Facts,
}

/// A question in the form that its language model accepts.
pub(super) enum Content {
    /// A chat in OpenAI's format.
    Chat(Chat),
    /// The passages that the built-in model quotes.
    Quotable(Box<Quotable>),
}

/// The body of a chat.
pub(super) enum Chat {
    /// A caller's body. It already says whether the answer is streamed.
    Sent(Bytes),
    /// A body that this server writes.
    Own(Map<String, Value>),
}

impl Question {
    /// A question that this server asks itself. `parameters` are further fields of the body, such as `temperature`. A
    /// stream ends with the usage. If `model` is None, the endpoint chooses one.
    pub fn of(model: Option<&str>, messages: Vec<Value>, parameters: Map<String, Value>) -> Self {
        let mut body = parameters;
        body.insert("messages".to_owned(), messages.into());
        if let Some(model) = model {
            body.insert("model".to_owned(), model.into());
        }
        let facts =
            Facts { model: model.map(str::to_owned), max_tokens: body.get("max_tokens").and_then(Value::as_u64) };
        Self { origin: None, content: Content::Chat(Chat::Own(body)), facts }
    }

    /// A caller's request with changes. The caller's original bytes are sent if nothing is changed.
    ///
    /// # Errors
    ///
    /// [`LlmError::ShuttingDown`].
    pub async fn changed(request: &Arc<Request>, changes: BodyChanges, origin: Origin) -> Result<Self, LlmError> {
        let facts = facts(request, &changes);
        let bytes = request.body.bytes().len() + changes.about_bytes();
        let request = Arc::clone(request);
        let write = move |_: &_| Ok::<_, LlmError>(Bytes::from(request.body.forwardable(&changes)));
        let body = ragengine_compute::run(bytes, write).await?;
        Ok(Self { origin: Some(origin), content: Content::Chat(Chat::Sent(body)), facts })
    }

    /// A caller's request, byte for byte.
    pub fn as_sent(request: &Request, origin: Origin) -> Self {
        let content = Content::Chat(Chat::Sent(request.body.bytes().clone()));
        Self { origin: Some(origin), content, facts: facts(request, &BodyChanges::default()) }
    }

    /// Passages that the built-in model quotes.
    pub fn quoting(quotable: Quotable) -> Self {
        Self { origin: None, content: Content::Quotable(Box::new(quotable)), facts: Facts::default() }
    }

    /// Links the question to a request, whose id is sent to the endpoint.
    pub fn asked_by(self, origin: Origin) -> Self {
        Self { origin: Some(origin), ..self }
    }
}

/// What a trace says about a request. Nothing without a trace.
fn facts(request: &Request, changes: &BodyChanges) -> Facts {
    if !Span::is_recorded() {
        return Facts::default();
    }
    Facts {
        model: request.model.clone().or_else(|| changes.default_model.clone()),
        max_tokens: changes.max_tokens.or(request.max_tokens),
    }
}

impl Chat {
    /// The body that requests a whole answer.
    pub(super) fn for_whole(self) -> Bytes {
        match self {
            Self::Sent(body) => body,
            Self::Own(body) => Value::Object(body).to_string().into(),
        }
    }

    /// The body that requests a stream.
    pub(super) fn for_stream(self) -> Bytes {
        match self {
            Self::Sent(body) => body,
            Self::Own(mut body) => {
                body.insert("stream".to_owned(), true.into());
                body.insert("stream_options".to_owned(), json!({"include_usage": true}));
                Value::Object(body).to_string().into()
            }
        }
    }
}

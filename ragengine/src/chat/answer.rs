use std::convert::Infallible;
use std::time::{SystemTime, UNIX_EPOCH};

use axum::http::HeaderValue;
use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use ragengine_pipeline::request::ChatRequest;
use ragengine_pipeline::stream::{Usage, event, with_fields};
use serde_json::{Value, json};

use super::context::Context;
use crate::embedding::{Embedding, Windows};
use crate::error::ApiError;
use crate::llm::extractive::{self, MODEL};

/// A reply to a chat.
pub enum ChatReply {
    /// The whole answer.
    Whole {
        /// Its content type.
        content_type: HeaderValue,
        /// Its bytes.
        body: Bytes,
    },
    /// Events, as they come.
    Events(BoxStream<'static, Result<Bytes, Infallible>>),
}

impl ChatReply {
    /// A whole answer in JSON.
    pub fn json(body: impl Into<Bytes>) -> Self {
        Self::Whole { content_type: HeaderValue::from_static("application/json"), body: body.into() }
    }
}

/// The built-in model's answer, ready to be shown.
pub(super) struct Answer {
    /// The sentences.
    pub sentences: Vec<String>,
    /// What it cost.
    pub usage: Usage,
    /// Our fields: names and JSON values. They go in as text: as a JSON value, 32-bit distances would show digits that they do not have.
    pub fields: Vec<(&'static str, String)>,
}

/// What the built-in model says from these passages, the vectors of the question being known. The embedding model is the one that they are of: the
/// index's, which is not the server's while its next generation is built, or after that was given up.
pub(super) async fn sentences(
    embedding: &Embedding,
    question: &Windows,
    context: &Context,
) -> Result<Vec<String>, ApiError> {
    let passages: Vec<&str> = context.selected.iter().map(|found| found.chunk.text.as_str()).collect();
    Ok(extractive::answer(embedding, question, &passages).await?)
}

impl Answer {
    /// As the request wants it: whole, or as a stream.
    pub fn reply(self, request: &ChatRequest) -> ChatReply {
        let head = json!({
            "id": format!("chatcmpl-{}", uuid::Uuid::new_v4().simple()),
            "created": SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
            "model": MODEL,
        });
        match request.stream {
            false => ChatReply::json(self.whole(head)),
            true => {
                let events = self.events(&head, request.include_usage);
                ChatReply::Events(stream::iter(events.into_iter().map(|text| Ok(Bytes::from(text)))).boxed())
            }
        }
    }

    fn reported_usage(&self) -> Value {
        json!({
            "prompt_tokens": self.usage.prompt_tokens,
            "completion_tokens": self.usage.completion_tokens,
            "total_tokens": self.usage.prompt_tokens + self.usage.completion_tokens,
        })
    }

    fn whole(&self, mut head: Value) -> String {
        head["object"] = json!("chat.completion");
        head["choices"] = json!([{
            "index": 0,
            "message": {"role": "assistant", "content": self.sentences.join(" ")},
            "logprobs": null,
            "finish_reason": "stop",
        }]);
        head["usage"] = self.reported_usage();
        self.with_our_fields(&head)
    }

    fn with_our_fields(&self, object: &Value) -> String {
        let object = object.to_string();
        with_fields(&object, &self.fields).unwrap_or(object)
    }

    /// One chunk for the role, one for each sentence, one that ends the answer and holds the sources.
    fn events(&self, head: &Value, include_usage: bool) -> Vec<String> {
        let chunk = |choices: Value| {
            let mut chunk = head.clone();
            chunk["object"] = json!("chat.completion.chunk");
            chunk["choices"] = choices;
            chunk
        };
        let delta = |delta: Value, finish_reason: Value| {
            chunk(json!([{"index": 0, "delta": delta, "finish_reason": finish_reason}]))
        };
        let first = delta(json!({"role": "assistant", "content": ""}), Value::Null);
        let sentences = self.sentences.iter().enumerate().map(|(position, sentence)| {
            let separator = if position == 0 { "" } else { " " };
            delta(json!({"content": format!("{separator}{sentence}")}), Value::Null)
        });
        let last = self.with_our_fields(&delta(json!({}), json!("stop")));
        let usage = include_usage.then(|| {
            let mut usage = chunk(json!([]));
            usage["usage"] = self.reported_usage();
            usage
        });
        let before = [first].into_iter().chain(sentences).map(|chunk| chunk.to_string());
        let after = usage.map(|chunk| chunk.to_string()).into_iter().chain(["[DONE]".to_owned()]);
        before.chain([last]).chain(after).map(|data| event(&data)).collect()
    }
}

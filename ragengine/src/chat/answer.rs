use std::convert::Infallible;
use std::time::{SystemTime, UNIX_EPOCH};

use axum::http::HeaderValue;
use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use ragengine_client::wire::SourceNode;
use ragengine_pipeline::request::ChatRequest;
use ragengine_pipeline::stream::{event, with_field};
use serde_json::{Value, json};

use super::Finished;
use crate::app::Loaded;
use crate::embedding::Embedding;
use crate::error::ApiError;
use crate::index::Index;
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

/// The built-in model's answer from a context.
pub(super) async fn extract(
    loaded: &Loaded,
    index: &Index,
    request: &ChatRequest,
    finished: Finished,
) -> Result<ChatReply, ApiError> {
    let passages: Vec<&str> = finished.context.selected.iter().map(|found| found.chunk.text.as_str()).collect();
    let sentences = extractive::answer(&loaded.embedding, &finished.context.question, &passages).await?;
    let answer = Answer {
        completion_tokens: sentences.iter().map(|sentence| loaded.embedding.count_tokens(sentence) as u64).sum(),
        prompt_tokens: finished.prompt_tokens,
        source_nodes: finished.source_nodes(index),
        sentences,
    };
    Ok(answer.reply(request))
}

/// The built-in model's answer when no passage can be quoted: one fixed sentence.
pub(super) fn without_passages(request: &ChatRequest, embedding: &Embedding, sentence: &str) -> ChatReply {
    let messages = request.body["messages"].as_array().map_or(&[][..], Vec::as_slice);
    let answer = Answer {
        sentences: vec![sentence.to_owned()],
        prompt_tokens: ragengine_pipeline::tokens::conversation(messages, |text| embedding.count_tokens(text) as u64),
        completion_tokens: embedding.count_tokens(sentence) as u64,
        source_nodes: Vec::new(),
    };
    answer.reply(request)
}

struct Answer {
    sentences: Vec<String>,
    prompt_tokens: u64,
    completion_tokens: u64,
    source_nodes: Vec<SourceNode>,
}

impl Answer {
    fn reply(self, request: &ChatRequest) -> ChatReply {
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

    fn usage(&self) -> Value {
        json!({
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "total_tokens": self.prompt_tokens + self.completion_tokens,
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
        head["usage"] = self.usage();
        self.with_sources(&head)
    }

    /// The sources go in as text: as a JSON value, their 32-bit distances would show digits that they do not have.
    fn with_sources(&self, object: &Value) -> String {
        let sources = serde_json::to_string(&self.source_nodes).unwrap_or_else(|_| "[]".to_owned());
        let object = object.to_string();
        with_field(&object, "source_nodes", &sources).unwrap_or(object)
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
        let last = self.with_sources(&delta(json!({}), json!("stop")));
        let usage = include_usage.then(|| {
            let mut usage = chunk(json!([]));
            usage["usage"] = self.usage();
            usage
        });
        let before = [first].into_iter().chain(sentences).map(|chunk| chunk.to_string());
        let after = usage.map(|chunk| chunk.to_string()).into_iter().chain(["[DONE]".to_owned()]);
        before.chain([last]).chain(after).map(|data| event(&data)).collect()
    }
}

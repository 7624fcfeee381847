//! Tests of [`LanguageModel::complete`] and [`LanguageModel::stream`] without a caller's request.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderValue, Response};
use axum::routing::post;
use axum::{Json, Router};
use ragengine_embedding::remote::{Endpoint, EndpointOptions};
use ragengine_embedding::{Embedder, Embedding, EmbeddingMetrics, Windows};
use ragengine_metrics::Builder;
use ragengine_pipeline::stream::{Choice, Delta, Said, Usage};
use ragengine_settings::InferenceService;
use serde_json::json;
use tokio::net::TcpListener;

use super::extractive::{NOTHING_RELEVANT, Quotable};
use super::*;
use crate::telemetry::metrics::Metrics;

async fn serve(router: Router) -> String {
    drop(rustls::crypto::ring::default_provider().install_default());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    url
}

/// An endpoint whose reply depends on the field `user`. It reports the number of messages and the request id as a
/// fingerprint.
async fn endpoint() -> LanguageModel {
    async fn reply(headers: HeaderMap, body: Bytes) -> Response<Body> {
        let body: Value = serde_json::from_slice(&body).unwrap();
        let fingerprint = headers.get("x-request-id").and_then(|id| id.to_str().ok());
        let usage = json!({"prompt_tokens": body["messages"].as_array().map(Vec::len), "completion_tokens": 2});
        let response = |status: u16, kind: &str, body: String| {
            Response::builder().status(status).header("content-type", kind).body(Body::from(body)).unwrap()
        };
        let stream = |chunks: &[Value]| {
            let events: String = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
            response(200, "text/event-stream", events)
        };
        let one = |index: u64, text: &str, reason: Option<&str>| {
            let choice = json!({"index": index, "delta": {"content": text}, "finish_reason": reason});
            json!({"choices": [choice]})
        };
        match (body["user"].as_str(), body["stream"] == true) {
            (Some("refuse"), _) => response(429, "application/json", r#"{"error": {"message": "slow down"}}"#.into()),
            (Some("break"), true) => stream(&[one(0, "a", None)]),
            (Some("whole"), _) | (_, false) => {
                let choice = |index: u64, text: &str, reason: &str| {
                    let message = json!({"content": text});
                    json!({"index": index, "message": message, "finish_reason": reason})
                };
                let choices = [choice(1, "b", "length"), choice(0, "a", "stop")];
                let whole = json!({"choices": choices, "usage": usage, "system_fingerprint": fingerprint});
                response(200, "application/json", whole.to_string())
            }
            (_, true) => {
                assert_eq!(body["stream_options"], json!({"include_usage": true}));
                let last = json!({"choices": [], "usage": usage});
                stream(&[one(1, "b", None), one(0, "a", Some("stop")), one(1, "\nc", Some("length")), last])
            }
        }
    }
    let url = serve(Router::new().route("/v1/chat/completions", post(reply))).await;
    let metrics = Metrics::new(Duration::from_secs(300)).unwrap();
    let upstream = Upstream::new(&InferenceService::default(), &url, None, &metrics.admission).unwrap();
    LanguageModel::Upstream(Arc::new(upstream))
}

fn question(user: &str) -> Question {
    let parameters = json!({"user": user}).as_object().unwrap().clone();
    Question::of(Some("served"), vec![json!({"role": "user", "content": "Hi"})], parameters)
}

/// The content of a stream: its deltas, its usage, and the error that ends it.
async fn said(reply: Reply) -> (Vec<Delta>, Option<Usage>, Option<LlmError>) {
    let Reply::Stream(stream) = reply else { panic!("it is whole") };
    let (mut events, mut all, mut cost) = (stream.events(), Vec::new(), None);
    while let Some(piece) = events.next().await {
        let piece = match piece {
            Ok(piece) => piece,
            Err(error) => return (all, cost, Some(error)),
        };
        for chunk in piece.chunks {
            if let Said::Answer { deltas, usage, .. } = chunk.said {
                all.extend(deltas);
                cost = usage.or(cost);
            }
        }
    }
    assert!(events.has_ended());
    (all, cost, None)
}

fn delta(choice: u64, text: &str, reason: Option<&str>) -> Delta {
    let finish_reason = reason.map(str::to_owned);
    Delta { choice, text: text.to_owned(), finish_reason, has_calls: false, tool_calls: Vec::new() }
}

fn choice(index: u64, text: &str, reason: &str) -> Choice {
    let finish_reason = Some(reason.to_owned());
    Choice { index, text: text.to_owned(), finish_reason, has_calls: false, tool_calls: Vec::new() }
}

const USAGE: Usage = Usage { prompt_tokens: 1, completion_tokens: 2 };

#[tokio::test]
async fn an_endpoint_answers_a_question_of_this_server() {
    let model = endpoint().await;
    let answer = model.complete(question("ann")).await.unwrap();
    assert_eq!(answer.choices(), [choice(1, "b", "length"), choice(0, "a", "stop")]);
    assert_eq!((&*answer.text(), answer.said.usage), ("b", Some(USAGE)));
    assert!(!String::from_utf8_lossy(&answer.raw).contains("r1"));

    let origin = Origin { request_id: HeaderValue::from_static("r1"), room: None };
    let answer = model.complete(question("ann").asked_by(origin)).await.unwrap();
    assert!(String::from_utf8_lossy(&answer.raw).contains(r#""system_fingerprint":"r1""#));
}

#[tokio::test]
async fn two_choices_of_a_stream_keep_their_numbers() {
    let model = endpoint().await;
    let (deltas, usage, error) = said(model.stream(question("ann")).await.unwrap()).await;
    assert_eq!(deltas, [delta(1, "b", None), delta(0, "a", Some("stop")), delta(1, "\nc", Some("length")),]);
    assert_eq!(usage, Some(USAGE));
    assert!(error.is_none(), "{error:?}");
}

#[tokio::test]
async fn a_whole_answer_to_a_question_for_a_stream_is_read_too() {
    let Reply::Whole(whole) = endpoint().await.stream(question("whole")).await.unwrap() else { panic!("a stream") };
    assert_eq!(whole.answer().await.unwrap().said.usage, Some(USAGE));

    let Reply::Whole(whole) = endpoint().await.stream(question("whole")).await.unwrap() else { panic!("a stream") };
    let (deltas, usage, error) = said(Reply::Stream(whole.into_stream())).await;
    let ends = [delta(1, "", Some("length")), delta(0, "", Some("stop"))];
    assert_eq!(deltas, [[delta(1, "b", None), delta(0, "a", None)], ends].concat());
    assert_eq!(usage, Some(USAGE));
    assert!(error.is_none(), "{error:?}");
}

#[tokio::test]
async fn a_refusal_keeps_its_status_and_its_message() {
    let model = endpoint().await;
    for refused in [model.complete(question("refuse")).await.err(), model.stream(question("refuse")).await.err()] {
        let Some(LlmError::Refused { status, message, .. }) = refused else { panic!("{refused:?}") };
        assert_eq!((status, message.as_str()), (429, "slow down"));
    }
}

#[tokio::test]
async fn a_stream_that_ends_before_its_answer_ends_with_an_error() {
    let (deltas, _, error) = said(endpoint().await.stream(question("break")).await.unwrap()).await;
    assert_eq!(deltas, [delta(0, "a", None)]);
    assert!(error.unwrap().to_string().contains("its stream ended before the answer did"));
}

/// A question for the built-in model in which all sentences are equally near.
async fn quotable(passages: &[&str]) -> Quotable {
    async fn embed(Json(body): Json<Value>) -> Json<Value> {
        let count = body["input"].as_array().map_or(1, Vec::len);
        let data: Vec<Value> = (0..count).map(|index| json!({"index": index, "embedding": [1.0, 0.0]})).collect();
        Json(json!({"data": data}))
    }
    let url = serve(Router::new().route("/v1/embeddings", post(embed))).await;
    let metrics = EmbeddingMetrics::new(&mut Builder::new(Duration::from_secs(1)).unwrap()).unwrap();
    let embedder = Embedder::Remote(Endpoint::new(EndpointOptions::new(&url, "m")).unwrap());
    let embedding = Embedding::new(embedder, 2, metrics);
    Quotable {
        counter: embedding.clone(),
        embedding,
        question: Windows::from(vec![1.0, 0.0]),
        passages: passages.iter().map(|&text| text.to_owned()).collect(),
        otherwise: NOTHING_RELEVANT,
        prompt_tokens: 7,
        include_usage: true,
    }
}

#[tokio::test]
async fn the_built_in_model_answers_in_the_same_types() {
    for (passages, text) in [(&["Bees make honey."][..], "Bees make honey. [1]"), (&[], NOTHING_RELEVANT)] {
        let answer = LanguageModel::Extractive.complete(Question::quoting(quotable(passages).await)).await.unwrap();
        assert_eq!(answer.choices(), [choice(0, text, "stop")]);
        let cost = answer.said.usage.unwrap();
        assert_eq!(cost.prompt_tokens, 7);
        assert!(cost.completion_tokens > 0);

        let reply = LanguageModel::Extractive.stream(Question::quoting(quotable(passages).await)).await.unwrap();
        let (deltas, usage, _) = said(reply).await;
        assert_eq!(deltas, [delta(0, "", None), delta(0, text, None), delta(0, "", Some("stop"))]);
        assert_eq!(usage, Some(cost));
    }
}

#[tokio::test]
async fn a_question_for_another_kind_of_model_is_refused() {
    for model in [LanguageModel::Extractive, LanguageModel::None] {
        assert!(matches!(model.complete(question("ann")).await, Err(LlmError::Missing)));
    }
    let quoting = Question::quoting(quotable(&[]).await);
    assert!(matches!(endpoint().await.stream(quoting).await, Err(LlmError::Missing)));
}

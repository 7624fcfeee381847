//! A cross-encoder that the tests write.

use std::future::poll_fn;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use futures_util::future::join_all;
use ragengine_embedding::files::{Error as FilesError, ModelFiles};
use ragengine_embedding::local::ThreadPool;
use ragengine_embedding::reranker::{CrossEncoder, Error, Service, ServiceOptions};
use ragengine_errors::{Class, Fault as _};

use crate::tiny_cross_encoder::TinyCrossEncoder;

const WORDS: [(&str, f32); 5] =
    [("good", 1.0), ("bad", -1.0), ("best", 4.0), ("word", 0.0), ("infinite", f32::INFINITY)];

fn tiny() -> TinyCrossEncoder<'static> {
    TinyCrossEncoder::of(&WORDS)
}

fn try_load(tiny: &TinyCrossEncoder<'_>, max_tokens: Option<usize>) -> Result<CrossEncoder, Error> {
    let folder = tempfile::tempdir().unwrap();
    tiny.write(folder.path());
    CrossEncoder::load("tiny", &ModelFiles::at(folder.path()).unwrap(), max_tokens)
}

fn load() -> CrossEncoder {
    try_load(&tiny(), None).unwrap()
}

fn score(model: &CrossEncoder, question: &str, passages: &[&str]) -> Result<Vec<f32>, Error> {
    model.score(&Arc::new(ThreadPool::with_num_threads(1)), question, passages)
}

fn one_thread() -> ServiceOptions {
    ServiceOptions { threads: 1, ..ServiceOptions::default() }
}

#[test]
fn a_score_is_of_the_passage() {
    let model = load();
    let passages = ["a bad one", "the best", "Good, good", "", "something else", "good bad word"];
    let scores = score(&model, "best best?", &passages).unwrap();
    assert_eq!(scores, [-1.0, 4.0, 2.0, 0.0, 0.0, 0.0]);
    assert_eq!(score(&model, "", &passages).unwrap(), scores);
    assert_eq!((model.model_id(), model.max_tokens()), ("tiny", 512));
}

#[test]
fn a_score_does_not_depend_on_its_batch() {
    let model = load();
    let passages: Vec<String> =
        (0..30).map(|number| format!("{} {}", "word ".repeat(number * 7 % 30), "good ".repeat(number))).collect();
    let passages: Vec<&str> = passages.iter().map(String::as_str).collect();
    let together = score(&model, "which?", &passages).unwrap();
    for (passage, in_batch) in passages.iter().zip(&together) {
        assert_eq!(score(&model, "which?", &[passage]).unwrap(), [*in_batch], "{passage}");
    }
    let expected: Vec<f32> = (0..30_u8).map(f32::from).collect();
    assert_eq!(together, expected);
}

#[test]
fn no_passages_have_no_scores() {
    assert_eq!(score(&load(), "which?", &[]), Ok(Vec::new()));
}

/// Of 16 tokens, 3 are special.
#[test]
fn the_end_of_a_long_passage_is_not_read() {
    let model = try_load(&tiny(), Some(16)).unwrap();
    for (question, read) in [("", 13), ("word", 12), ("word word word word word word word word", 5)] {
        let passages = [read - 1, read].map(|words| format!("{}good {}", "word ".repeat(words), "bad ".repeat(50_000)));
        let scores = score(&model, question, &passages.each_ref().map(String::as_str)).unwrap();
        assert_eq!(scores, [1.0, 0.0], "{question}");
    }
}

#[test]
fn a_long_question_takes_half_of_the_limit() {
    let model = try_load(&tiny(), Some(16)).unwrap();
    let long = "word ".repeat(100_000);
    let passages = ["word word word word good", "word word word word word good", "best"];
    assert_eq!(score(&model, &long, &passages).unwrap(), [1.0, 0.0, 4.0]);
}

#[test]
fn the_limit_must_have_room_and_positions() {
    for max_tokens in [0, 1, 2, 5, 513] {
        let error = try_load(&tiny(), Some(max_tokens)).err().unwrap();
        assert!(matches!(&error, Error::Configuration(message) if message.contains("max_tokens")), "{error}");
    }
    let smallest = try_load(&tiny(), Some(7)).unwrap();
    assert_eq!(score(&smallest, "word word word word", &["good bad"]).unwrap(), [1.0]);
}

#[test]
fn other_forms_of_the_output_are_read() {
    for columns in [None, Some(1), Some(2)] {
        let model = try_load(&TinyCrossEncoder { columns, ..tiny() }, None).unwrap();
        for passages in [&["best", "bad", "good"][..], &["best", "bad"], &["best"]] {
            let scores = score(&model, "which?", passages).unwrap();
            assert_eq!(scores, [4.0, -1.0, 1.0][..passages.len()], "{columns:?}");
        }
    }
}

#[test]
fn a_model_of_another_kind_is_refused() {
    let three = TinyCrossEncoder { columns: Some(3), ..tiny() };
    let unnamed = TinyCrossEncoder { output: "last_hidden_state", ..tiny() };
    for (tiny, words) in
        [(three, ["[2, 3]", "[\"logits\"]"]), (unnamed, ["no output logits", "[\"last_hidden_state\"]"])]
    {
        let error = try_load(&tiny, None).err().unwrap();
        let message = error.to_string();
        assert_eq!(error.kind(), "load");
        assert!(message.contains("model.onnx") && words.iter().all(|word| message.contains(word)), "{message}");
    }
}

#[test]
fn a_score_that_is_not_finite_is_an_error() {
    let error = score(&load(), "which?", &["good", "infinite"]).unwrap_err();
    assert_eq!(error, Error::NotFinite);
}

#[test]
fn errors_name_the_invalid_file() {
    for file in ["onnx/model.onnx", "tokenizer.json", "config.json"] {
        let folder = tempfile::tempdir().unwrap();
        tiny().write(folder.path());
        std::fs::write(folder.path().join(file), "no model").unwrap();
        let files = ModelFiles::at(folder.path()).unwrap();
        let error = CrossEncoder::load("tiny", &files, None).err().unwrap();
        assert!(error.to_string().contains(file), "{error}");
    }
}

#[test]
fn missing_files_name_the_setting() {
    let missing = ModelFiles::at(Path::new("/nowhere")).unwrap_err().about("rerank.local.modelID");
    assert!(matches!(missing, FilesError::Missing { .. }));
    let message = missing.to_string();
    assert!(message.contains("rerank.local.modelID") && !message.contains("embedding"), "{message}");
}

#[tokio::test]
async fn two_services_run_at_once() {
    let shared = Arc::new(load());
    let opposite = WORDS.map(|(word, weight)| (word, -weight));
    let other = try_load(&TinyCrossEncoder::of(&opposite), None).unwrap();
    let services = [
        Service::start(Arc::clone(&shared), &ServiceOptions { threads: 2, ..ServiceOptions::default() }).unwrap(),
        Service::start(Arc::clone(&shared), &one_thread()).unwrap(),
        Service::start(other, &one_thread()).unwrap(),
    ];
    let passages: Vec<String> = (0..40).map(|number| "good ".repeat(number)).collect();
    let requests = (0..12).flat_map(|_| &services).map(|service| service.score("which?", passages.clone()));
    let expected: Vec<f32> = (0..40_u8).map(f32::from).collect();
    let opposite: Vec<f32> = expected.iter().map(|score| -score).collect();
    for (number, scores) in join_all(requests).await.into_iter().enumerate() {
        assert_eq!(scores.unwrap(), *if number % 3 == 2 { &opposite } else { &expected });
    }
    assert_eq!(services[0].score("which?", Vec::new()).await, Ok(Vec::new()));
    assert_eq!((services[0].model().model_id(), services[0].queue_depth()), ("tiny", 0));
}

#[tokio::test]
async fn requests_beyond_the_queue_are_refused() {
    let service = Service::start(load(), &ServiceOptions { queue: 2, ..one_thread() }).unwrap();
    let long = vec!["good word ".repeat(3000)];
    let results = join_all((0..50).map(|_| service.score("which?", long.clone()))).await;
    let refused: Vec<&Error> = results.iter().filter_map(|result| result.as_ref().err()).collect();
    assert!(!refused.is_empty() && refused.len() <= 48, "{}", refused.len());
    for error in refused {
        assert_eq!((error, error.class()), (&Error::Overloaded { waiting: 2 }, Class::Busy));
    }
    // One with more batches than the queue holds is served when there is room for the first.
    assert_eq!(service.score("which?", vec!["good ".repeat(500); 9]).await.unwrap().len(), 9);
}

#[tokio::test]
async fn batches_that_nobody_waits_for_are_dropped() {
    let service = Service::start(load(), &one_thread()).unwrap();
    for _ in 0..40 {
        let mut request = pin!(service.score("which?", vec!["good word ".repeat(3000)]));
        let poll = poll_fn(|context| Poll::Ready(request.as_mut().poll(context))).await;
        assert!(poll.is_pending());
    }
    assert_eq!(service.score("which?", vec!["good".to_owned()]).await, Ok(vec![1.0]));
    assert_eq!(service.queue_depth(), 0);
}

#[test]
fn dropping_the_service_ends_its_threads() {
    let model = Arc::new(load());
    let service = Service::start(Arc::clone(&model), &ServiceOptions { threads: 3, queue: 1 }).unwrap();
    assert_eq!(Arc::strong_count(&model), 5);
    drop(service);
    assert_eq!(Arc::strong_count(&model), 1);
    for options in [ServiceOptions { threads: 0, queue: 1 }, ServiceOptions { threads: 1, queue: 0 }] {
        assert_eq!(Service::start(Arc::clone(&model), &options).err().unwrap().kind(), "configuration");
    }
}

use std::sync::Arc;

use ragengine_embedding::local::{Model, ThreadPool};
use ragengine_embedding::profile::{Overrides, Pooling, Profile};
use ragengine_embedding::{Error, Purpose, Vector};

use crate::files::{MODEL_ID, cosine, load, model_files, shared_model};

fn embed(model: &Model, purpose: Purpose, texts: &[&str]) -> Result<Vec<Vector>, Error> {
    model.embed(&Arc::new(ThreadPool::with_num_threads(1)), purpose, texts)
}

fn passages(texts: &[&str]) -> Vec<Vector> {
    embed(&shared_model(), Purpose::Passage, texts).unwrap()
}

/// A text of `tokens` tokens. Each word is one token.
fn words(tokens: usize) -> String {
    ["river", "market", "engine", "window", "paper"].iter().cycle().take(tokens).copied().collect::<Vec<_>>().join(" ")
}

#[test]
fn the_profile_comes_from_the_models_files() {
    let model = shared_model();
    assert_eq!(model.dimensions(), 384);
    assert_eq!(model.max_tokens(), 256);
    assert_eq!(model.special_tokens(), 2);
    assert_eq!(model.max_passage_tokens(), 254);
    assert_eq!(model.profile().pooling, Pooling::Mean);
    assert_eq!(model.model_id(), MODEL_ID);
}

/// The expected similarities are from the hub's API documentation for this model:
/// <https://huggingface.co/docs/inference-providers/tasks/sentence-similarity>
#[test]
fn similarities_match_the_published_ones() {
    let vectors = passages(&[
        "That is a happy person",
        "That is a happy dog",
        "That is a very happy person",
        "Today is a sunny day",
    ]);
    for (vector, published) in vectors[1..].iter().zip([0.6946, 0.9429, 0.2569]) {
        let similarity = cosine(&vectors[0], vector);
        // The tests' model has weights rounded to 8 bits.
        assert!((similarity - published).abs() < 0.02, "{similarity} {published}");
    }
}

#[test]
fn paraphrases_are_nearer_than_unrelated_texts() {
    let model = shared_model();
    let triples = [
        ("How do I reset my password?", "Changing a forgotten password", "Opening hours of the museum"),
        ("The invoice is overdue.", "Payment of the bill is late.", "The cat sleeps on the sofa."),
        ("restart the database server", "reboot the SQL host", "bake bread with rye flour"),
    ];
    for (query, related, unrelated) in triples {
        let query_vector = &embed(&model, Purpose::Query, &[query]).unwrap()[0];
        let vectors = passages(&[related, unrelated]);
        let (near, far) = (cosine(query_vector, &vectors[0]), cosine(query_vector, &vectors[1]));
        assert!(near > far + 0.2, "{query}: {near} {far}");
    }
}

#[test]
fn a_vector_does_not_depend_on_its_batch() {
    let long = words(254);
    let texts = ["", "river", "What is the capital?", &long, "Größe, naïveté — 東京 🦀", "a b c d e f g h"];
    let together = passages(&texts);
    for (text, in_batch) in texts.iter().zip(&together) {
        let alone = &passages(&[text])[0];
        assert!(cosine(alone, in_batch) > 0.9999, "{text:?}");
        assert!((cosine(alone, alone) - 1.0).abs() < 1e-5, "{text:?}");
        assert_eq!(alone.len(), 384);
    }
}

#[test]
fn no_texts_give_no_vectors() {
    assert_eq!(passages(&[]), Vec::<Vector>::new());
}

/// The model's tokenizer.json truncates and pads to 128 tokens.
#[test]
fn all_256_tokens_are_read() {
    let start = words(126);
    let whole = format!("{start} {}", "penguin ".repeat(128));
    assert_eq!(shared_model().count_tokens(&whole), 254);
    let vectors = passages(&[&start, &whole]);
    assert!(cosine(&vectors[0], &vectors[1]) < 0.9);
}

#[test]
fn tokens_are_counted_without_special_ones() {
    let model = shared_model();
    let cases = [("", 0), ("hello world", 2), ("Hello, world!", 4), ("unaffable", 3), (&words(300), 300)];
    for (text, tokens) in cases {
        assert_eq!(model.count_tokens(text), tokens, "{text:?}");
    }
}

#[test]
fn a_passage_over_the_limit_is_an_error_with_its_position() {
    let model = shared_model();
    assert!(embed(&model, Purpose::Passage, &[&words(254)]).is_ok());
    let error = embed(&model, Purpose::Passage, &["short", &words(255)]).unwrap_err();
    assert_eq!(error, Error::TooLong { position: 1, tokens: 257, max_tokens: 256 });
}

#[test]
fn a_query_over_the_limit_keeps_its_start() {
    let model = shared_model();
    let cut = &embed(&model, Purpose::Query, &[&words(2000)]).unwrap()[0];
    let start = &embed(&model, Purpose::Query, &[&words(254)]).unwrap()[0];
    assert!(cosine(cut, start) > 0.9999);
}

#[test]
fn overrides_are_used_and_change_the_fingerprint() {
    let model = load(&Overrides {
        max_tokens: Some(16),
        query_prefix: Some("query: ".to_owned()),
        passage_prefix: Some("passage: ".to_owned()),
        pooling: Some(Pooling::Cls),
    });
    let usual = shared_model();
    assert_ne!(model.fingerprint(), usual.fingerprint());
    assert_eq!(model.max_passage_tokens(), 12);
    assert!(embed(&model, Purpose::Passage, &[&words(12)]).is_ok());
    assert!(embed(&model, Purpose::Passage, &[&words(13)]).is_err());

    let as_query = &embed(&model, Purpose::Query, &["river"]).unwrap()[0];
    let as_passage = &embed(&model, Purpose::Passage, &["river"]).unwrap()[0];
    let mean = &passages(&["river"])[0];
    assert!(cosine(as_query, as_passage) < 0.999);
    assert!(cosine(as_passage, mean) < 0.999);
}

#[test]
fn the_fingerprint_depends_on_the_contents_but_not_on_the_directory() {
    let files = model_files();
    let profile = Profile::resolve(MODEL_ID, &files.read_configs().unwrap(), &Overrides::default()).unwrap();
    let elsewhere = Model::load(&format!("/elsewhere/{MODEL_ID}"), &files, profile).unwrap();
    let from_hub = shared_model().fingerprint().to_owned();
    assert_eq!(format!("sentence-transformers/{}", elsewhere.fingerprint()), from_hub);
    assert!(from_hub.contains("tokenizer=be50c3628f2bf5bb"), "{from_hub}");
}

#[test]
fn errors_name_the_invalid_file() {
    let real = model_files();
    let directory = tempfile::tempdir().unwrap();
    let broken = directory.path().join("broken.onnx");
    std::fs::write(&broken, "no model").unwrap();
    let profile = shared_model().profile().clone();
    let cases = [
        (real.model.clone(), broken.clone()),
        (broken, real.tokenizer.clone()),
        (directory.path().join("absent.onnx"), real.tokenizer.clone()),
    ];
    for (model, tokenizer) in cases {
        let culprit = if tokenizer == real.tokenizer { &model } else { &tokenizer }.display().to_string();
        let mut files = real.clone();
        (files.model, files.tokenizer) = (model, tokenizer);
        let error = Model::load(MODEL_ID, &files, profile.clone()).err().unwrap();
        assert_eq!(error.kind(), "load");
        assert!(error.to_string().contains(&culprit), "{error}");
    }
}

#[test]
fn a_limit_without_room_for_a_text_is_refused() {
    let files = model_files();
    let mut profile = shared_model().profile().clone();
    profile.max_tokens = 2;
    assert_eq!(Model::load(MODEL_ID, &files, profile).err().unwrap().kind(), "configuration");
}

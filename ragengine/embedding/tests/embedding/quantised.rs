//! Models with int8 weights quantise what they compute over the whole batch, so that a text has other vectors in other
//! batches.

use ragengine_embedding::Purpose;
use ragengine_embedding::files::{ModelFiles, Weights};
use ragengine_embedding::local::{Model, Service, ServiceOptions};
use ragengine_embedding::profile::{Overrides, Profile};

use crate::files::shared_model;
use crate::onnx::{FLOAT, graph, input, node, output, tensor};
use crate::tiny_cross_encoder::TinyCrossEncoder;

/// The words that the tiny model knows, after four special ones, and the vector of each.
const WORDS: [(&str, [f32; 2]); 2] = [("probe", [0.3, 0.7]), ("longer", [90.0, -90.0])];

/// A model whose vectors are those of its words, quantised to 8 bits over the batch.
fn quantised() -> Model {
    let folder = tempfile::tempdir().unwrap();
    TinyCrossEncoder::of(&WORDS.map(|(word, _)| (word, 0.0))).write(folder.path());
    let special = [[0.0; 2]; 4].into_iter();
    let vectors = special.chain(WORDS.map(|(_, vector)| vector)).flatten();
    let vectors: Vec<u8> = vectors.flat_map(f32::to_le_bytes).collect();
    let onnx = graph(&[
        node("Gather", &["vectors", "input_ids"], &["by_token"], &[]),
        node("DynamicQuantizeLinear", &["by_token"], &["quantised", "scale", "zero"], &[]),
        node("DequantizeLinear", &["quantised", "scale", "zero"], &["last_hidden_state"], &[]),
        tensor("vectors", FLOAT, &[4 + WORDS.len(), 2], &vectors),
        input("input_ids"),
        input("attention_mask"),
        output("last_hidden_state"),
    ]);
    std::fs::write(folder.path().join("onnx/model_int8.onnx"), onnx).unwrap();
    let weights = Weights::named(Some("onnx/model_int8.onnx")).unwrap();
    let files = ModelFiles::with_weights(folder.path(), &weights).unwrap();
    let profile = Profile::resolve("tiny", &files.read_configs().unwrap(), &Overrides::default()).unwrap();
    Model::load("tiny", &files, profile).unwrap()
}

#[tokio::test]
async fn a_text_has_one_vector_even_if_the_model_quantises_over_the_batch() {
    let model = quantised();
    assert!(model.depends_on_batch());
    let service = Service::start(model, &ServiceOptions { threads: 1, ..ServiceOptions::default() }).unwrap();
    let texts = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
    for purpose in [Purpose::Passage, Purpose::Query] {
        let alone = service.embed(purpose, texts(&["probe"])).await.unwrap();
        let with_others = service.embed(purpose, texts(&["probe", "longer", "probe longer"])).await.unwrap();
        assert_eq!(alone[0], with_others[0], "{purpose:?}");
    }
}

#[test]
fn a_model_that_computes_in_floating_point_does_not_depend_on_the_batch() {
    assert!(!shared_model().depends_on_batch());
}

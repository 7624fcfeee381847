//! Writes the files of a tiny cross-encoder: the score of a passage is the sum of the weights of its words.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::onnx::{FLOAT, INT64, graph, input, node, output, tensor};

/// The first words of the vocabulary. They weigh nothing.
const SPECIAL: [&str; 4] = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"];

/// A cross-encoder to write.
pub struct TinyCrossEncoder<'a> {
    /// The words of a passage that change its score.
    pub words: &'a [(&'a str, f32)],
    /// The name of the output.
    pub output: &'a str,
    /// Number of values for each pair. None: the output has one dimension. With several, the last minus the first one
    /// is the score.
    pub columns: Option<usize>,
    /// Maximum number of tokens of a pair.
    pub max_tokens: usize,
}

impl<'a> TinyCrossEncoder<'a> {
    /// One with the usual output.
    pub fn of(words: &'a [(&'a str, f32)]) -> Self {
        Self { words, output: "logits", columns: Some(1), max_tokens: 512 }
    }

    /// Writes the files into a folder.
    pub fn write(&self, folder: &Path) {
        std::fs::create_dir_all(folder.join("onnx")).unwrap();
        std::fs::write(folder.join("onnx/model.onnx"), self.onnx()).unwrap();
        std::fs::write(folder.join("tokenizer.json"), self.tokenizer().to_string()).unwrap();
        let config = json!({"model_type": "bert", "max_position_embeddings": self.max_tokens});
        std::fs::write(folder.join("config.json"), config.to_string()).unwrap();
    }

    fn tokenizer(&self) -> Value {
        let words = SPECIAL.iter().chain(self.words.iter().map(|(word, _)| word));
        let vocabulary: Map<String, Value> =
            words.enumerate().map(|(id, word)| ((*word).to_owned(), json!(id))).collect();
        let special = |name: &str, type_id: u8| json!({"SpecialToken": {"id": name, "type_id": type_id}});
        let text = |name: &str, type_id: u8| json!({"Sequence": {"id": name, "type_id": type_id}});
        let id = |name: &str| json!({"id": name, "ids": [vocabulary[name]], "tokens": [name]});
        let single = [special("[CLS]", 0), text("A", 0), special("[SEP]", 0)];
        let pair = [&single[..], &[text("B", 1), special("[SEP]", 1)]].concat();
        json!({
            "version": "1.0",
            "added_tokens": [],
            "normalizer": {"type": "Lowercase"},
            "pre_tokenizer": {"type": "Whitespace"},
            "post_processor": {
                "type": "TemplateProcessing",
                "single": single,
                "pair": pair,
                "special_tokens": {"[CLS]": id("[CLS]"), "[SEP]": id("[SEP]")},
            },
            "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "[UNK]"},
        })
    }

    /// `logits = sum over tokens of (weights[input_ids] * types[token_type_ids])`, with a weight of 0 for the question.
    fn onnx(&self) -> Vec<u8> {
        let columns = self.columns.unwrap_or(1);
        let column = |weight: f32, column: usize| match column {
            0 if columns > 1 => -weight / 2.0,
            last if columns > 1 && last + 1 == columns => weight / 2.0,
            0 => weight,
            _ => 0.0,
        };
        let of_words = self.words.iter().map(|(_, weight)| *weight);
        let weights = SPECIAL.iter().map(|_| 0.0).chain(of_words);
        let weights: Vec<u8> = weights
            .flat_map(|weight| (0..columns).flat_map(move |index| column(weight, index).to_le_bytes()))
            .collect();
        let width: Vec<usize> = self.columns.into_iter().collect();
        let one: Vec<usize> = width.iter().map(|_| 1).collect();
        let rows = SPECIAL.len() + self.words.len();
        let types: Vec<u8> = [0.0_f32, 1.0].into_iter().flat_map(f32::to_le_bytes).collect();
        graph(&[
            node("Gather", &["weights", "input_ids"], &["by_word"], &[]),
            node("Gather", &["types", "token_type_ids"], &["by_type"], &[]),
            node("Mul", &["by_word", "by_type"], &["by_token"], &[]),
            node("ReduceSum", &["by_token", "axes"], &[self.output], &[("keepdims", 0)]),
            tensor("weights", FLOAT, &[&[rows], &width[..]].concat(), &weights),
            tensor("types", FLOAT, &[&[2], &one[..]].concat(), &types),
            tensor("axes", INT64, &[1], &1_i64.to_le_bytes()),
            input("input_ids"),
            input("attention_mask"),
            input("token_type_ids"),
            output(self.output),
        ])
    }
}

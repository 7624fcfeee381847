//! Writes the files of a tiny cross-encoder: the score of a passage is the sum of the weights of its words.

use std::path::Path;

use serde_json::{Map, Value, json};

/// The first words of the vocabulary. They weigh nothing.
const SPECIAL: [&str; 4] = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"];

/// The numbers of ONNX for the types of tensors.
const FLOAT: u64 = 1;
const INT64: u64 = 7;

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
        let graph = [
            bytes(1, &node("Gather", &["weights", "input_ids"], "by_word", &[])),
            bytes(1, &node("Gather", &["types", "token_type_ids"], "by_type", &[])),
            bytes(1, &node("Mul", &["by_word", "by_type"], "by_token", &[])),
            bytes(1, &node("ReduceSum", &["by_token", "axes"], self.output, &[("keepdims", 0)])),
            bytes(2, b"tiny"),
            bytes(5, &tensor("weights", FLOAT, &[&[rows], &width[..]].concat(), &weights)),
            bytes(5, &tensor("types", FLOAT, &[&[2], &one[..]].concat(), &types)),
            bytes(5, &tensor("axes", INT64, &[1], &1_i64.to_le_bytes())),
            bytes(11, &input("input_ids")),
            bytes(11, &input("attention_mask")),
            bytes(11, &input("token_type_ids")),
            bytes(12, &bytes(1, self.output.as_bytes())),
        ];
        let opset = [bytes(1, b""), number(2, 13)].concat();
        [number(1, 8), bytes(7, &graph.concat()), bytes(8, &opset)].concat()
    }
}

fn node(operator: &str, inputs: &[&str], output: &str, attributes: &[(&str, u64)]) -> Vec<u8> {
    let mut node: Vec<u8> = inputs.iter().flat_map(|input| bytes(1, input.as_bytes())).collect();
    node.extend(bytes(2, output.as_bytes()));
    node.extend(bytes(4, operator.as_bytes()));
    for (name, value) in attributes {
        // The type 2 is a whole number.
        node.extend(bytes(5, &[bytes(1, name.as_bytes()), number(3, *value), number(20, 2)].concat()));
    }
    node
}

fn tensor(name: &str, kind: u64, shape: &[usize], values: &[u8]) -> Vec<u8> {
    let shape: Vec<u8> = shape.iter().flat_map(|&size| number(1, size as u64)).collect();
    [shape, number(2, kind), bytes(8, name.as_bytes()), bytes(9, values)].concat()
}

/// An input of whole numbers, with two dimensions of any size.
fn input(name: &str) -> Vec<u8> {
    let dimension = |name: &str| bytes(1, &bytes(2, name.as_bytes()));
    let shape = [dimension("pairs"), dimension("tokens")].concat();
    let kind = bytes(1, &[number(1, INT64), bytes(2, &shape)].concat());
    [bytes(1, name.as_bytes()), bytes(2, &kind)].concat()
}

/// A field of protobuf with a whole number.
fn number(field: u64, value: u64) -> Vec<u8> {
    [varint(field << 3), varint(value)].concat()
}

/// A field of protobuf with bytes, a text or a message.
fn bytes(field: u64, value: &[u8]) -> Vec<u8> {
    [varint(field << 3 | 2), varint(value.len() as u64), value.to_vec()].concat()
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value > 0x7f {
        bytes.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

//! A text model's graph: which inputs it wants, which output has the vectors.

use rten::NodeId;
use rten_tensor::Tensor;
use tokenizers::Encoding;

/// Outputs that hold a finished vector per text, and a vector per token: exporters use these names.
const SENTENCE_OUTPUT: &str = "sentence_embedding";
const TOKEN_OUTPUTS: [&str; 2] = ["last_hidden_state", "token_embeddings"];

/// An input that text models have.
#[derive(Debug, Clone, Copy)]
pub(super) enum Input {
    TokenIds,
    AttentionMask,
    TokenTypeIds,
}

impl Input {
    fn named(name: &str) -> Option<Self> {
        match name {
            "input_ids" => Some(Self::TokenIds),
            "attention_mask" => Some(Self::AttentionMask),
            "token_type_ids" => Some(Self::TokenTypeIds),
            _ => None,
        }
    }
}

/// What the graph gives.
#[derive(Debug, Clone, Copy)]
pub(super) enum Output {
    /// `[texts, width]`
    Sentences(NodeId),
    /// `[texts, tokens, width]`
    Tokens(NodeId),
}

/// The graph's inputs, each of a known kind; or which one is not.
pub(super) fn find_inputs(graph: &rten::Model) -> Result<Vec<(NodeId, Input)>, String> {
    let known = |&node: &NodeId| {
        let name = graph.node_info(node).and_then(|info| info.name()).unwrap_or_default();
        let input = Input::named(name).ok_or_else(|| {
            format!("its graph has the input {name:?}, and a text model has input_ids, attention_mask, token_type_ids")
        })?;
        Ok((node, input))
    };
    graph.input_ids().iter().map(known).collect()
}

/// The output to read: a finished vector per text if there is one. Or which outputs there are instead.
pub(super) fn find_output(graph: &rten::Model) -> Result<Output, String> {
    let outputs: Vec<(&str, NodeId)> = graph
        .output_ids()
        .iter()
        .map(|&node| (graph.node_info(node).and_then(|info| info.name()).unwrap_or_default(), node))
        .collect();
    let find = |wanted: &str| outputs.iter().find(|(name, _)| *name == wanted).map(|(_, node)| *node);
    let tokens = || TOKEN_OUTPUTS.iter().find_map(|name| find(name));
    find(SENTENCE_OUTPUT).map(Output::Sentences).or_else(|| tokens().map(Output::Tokens)).ok_or_else(|| {
        let names: Vec<&str> = outputs.iter().map(|(name, _)| *name).collect();
        format!("its graph has none of the outputs {SENTENCE_OUTPUT}, {}, but {names:?}", TOKEN_OUTPUTS.join(", "))
    })
}

/// One input of shape `[texts, padded]`. Padding is behind the text, masked, and 0: which id it has does not matter.
pub(super) fn padded_input(input: Input, encodings: &[Encoding], padded: usize) -> Tensor<i32> {
    let mut values = Vec::with_capacity(encodings.len() * padded);
    for encoding in encodings {
        let row = match input {
            Input::TokenIds => encoding.get_ids(),
            Input::AttentionMask => encoding.get_attention_mask(),
            Input::TokenTypeIds => encoding.get_type_ids(),
        };
        // Ids are far below 2^31.
        values.extend(row.iter().map(|&value| value as i32));
        values.resize(values.len() + padded - row.len(), 0);
    }
    Tensor::from_data(&[encodings.len(), padded], values)
}

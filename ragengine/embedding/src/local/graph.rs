//! Finds the inputs and the output of a text model's graph.

use rten::NodeId;
use rten_tensor::Tensor;
use tokenizers::Encoding;

/// The names of outputs with one vector per text, and with one vector per token, as exporters write them.
const SENTENCE_OUTPUT: &str = "sentence_embedding";
const TOKEN_OUTPUTS: [&str; 2] = ["last_hidden_state", "token_embeddings"];

/// An input of a text model.
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

/// The output of the graph, with its shape.
#[derive(Debug, Clone, Copy)]
pub(super) enum Output {
    /// `[texts, width]`
    Sentences(NodeId),
    /// `[texts, tokens, width]`
    Tokens(NodeId),
}

/// Finds the graph's inputs. An unknown input is an error, which names it.
pub(super) fn find_inputs(graph: &rten::Model) -> Result<Vec<(NodeId, Input)>, String> {
    let known = |&node: &NodeId| {
        let name = graph.node_info(node).and_then(|info| info.name()).unwrap_or_default();
        let input = Input::named(name).ok_or_else(|| {
            format!("its graph has the unknown input {name:?}: supported are input_ids, attention_mask, token_type_ids")
        })?;
        Ok((node, input))
    };
    graph.input_ids().iter().map(known).collect()
}

/// Finds the output to read: one vector per text if available, otherwise one per token. The error lists the existing
/// outputs.
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
        format!("its graph has none of the outputs {SENTENCE_OUTPUT}, {}; it has {names:?}", TOKEN_OUTPUTS.join(", "))
    })
}

/// Builds one input of shape `[texts, padded]`. Padding follows the text and is masked, so that its id does not matter;
/// it is 0.
pub(super) fn padded_input(input: Input, encodings: &[Encoding], padded: usize) -> Tensor<i32> {
    let mut values = Vec::with_capacity(encodings.len() * padded);
    for encoding in encodings {
        let row = match input {
            Input::TokenIds => encoding.get_ids(),
            Input::AttentionMask => encoding.get_attention_mask(),
            Input::TokenTypeIds => encoding.get_type_ids(),
        };
        // Ids are always below 2^31.
        values.extend(row.iter().map(|&value| value as i32));
        values.resize(values.len() + padded - row.len(), 0);
    }
    Tensor::from_data(&[encodings.len(), padded], values)
}

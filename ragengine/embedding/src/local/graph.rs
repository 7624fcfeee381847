//! Finds the output of an embedding model's graph.

use rten::NodeId;

use crate::graph::Graph;

/// The names of outputs with one vector per text, and with one vector per token, as exporters write them.
const SENTENCE_OUTPUT: &str = "sentence_embedding";
const TOKEN_OUTPUTS: [&str; 2] = ["last_hidden_state", "token_embeddings"];

/// The output of the graph, with its shape.
#[derive(Debug, Clone, Copy)]
pub(super) enum Output {
    /// `[texts, width]`
    Sentences(NodeId),
    /// `[texts, tokens, width]`
    Tokens(NodeId),
}

/// Finds the output to read: one vector per text if available, otherwise one per token. The error lists the existing
/// outputs.
pub(super) fn find_output(graph: &Graph) -> Result<Output, String> {
    let outputs = graph.outputs();
    let find = |wanted: &str| outputs.iter().find(|(name, _)| *name == wanted).map(|(_, node)| *node);
    let tokens = || TOKEN_OUTPUTS.iter().find_map(|name| find(name));
    find(SENTENCE_OUTPUT).map(Output::Sentences).or_else(|| tokens().map(Output::Tokens)).ok_or_else(|| {
        let names: Vec<&str> = outputs.iter().map(|(name, _)| *name).collect();
        format!("its graph has none of the outputs {SENTENCE_OUTPUT}, {}; it has {names:?}", TOKEN_OUTPUTS.join(", "))
    })
}

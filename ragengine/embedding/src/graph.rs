//! Loads the graph of a text model, and finds its inputs and outputs.

use std::path::Path;
use std::sync::Arc;

use rten::{ModelOptions, NodeId, RunOptions, ThreadPool, Value, ValueOrView};
use rten_tensor::Tensor;
use tokenizers::Encoding;

/// An input of a text model.
#[derive(Debug, Clone, Copy)]
enum Input {
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

/// A text model's graph with its inputs.
pub(crate) struct Graph {
    graph: rten::Model,
    inputs: Vec<(NodeId, Input)>,
}

impl Graph {
    /// Loads the weights. An unknown input is an error, which names it.
    pub fn load(path: &Path) -> Result<Self, String> {
        // Prepacked weights double the memory and halve the time of a short query.
        let graph =
            ModelOptions::with_all_ops().prepack_weights(true).load_file(path).map_err(|error| error.to_string())?;
        let inputs = find_inputs(&graph)?;
        Ok(Self { graph, inputs })
    }

    /// The outputs with their names.
    pub fn outputs(&self) -> Vec<(&str, NodeId)> {
        self.graph
            .output_ids()
            .iter()
            .map(|&node| (self.graph.node_info(node).and_then(|info| info.name()).unwrap_or_default(), node))
            .collect()
    }

    /// Runs one batch, padded to its longest text, and returns an output.
    pub fn run(&self, pool: &Arc<ThreadPool>, encodings: &[Encoding], output: NodeId) -> Result<Value, String> {
        let padded = encodings.iter().map(Encoding::len).max().unwrap_or_default();
        let inputs: Vec<(NodeId, ValueOrView<'_>)> = self
            .inputs
            .iter()
            .map(|&(node, input)| (node, Value::from(padded_input(input, encodings, padded)).into()))
            .collect();
        let options = RunOptions::default().with_thread_pool(Some(Arc::clone(pool)));
        let [value] = self.graph.run_n(inputs, [output], Some(options)).map_err(|error| error.to_string())?;
        Ok(value)
    }
}

/// Finds the graph's inputs. An unknown input is an error, which names it.
fn find_inputs(graph: &rten::Model) -> Result<Vec<(NodeId, Input)>, String> {
    let known = |&node: &NodeId| {
        let name = graph.node_info(node).and_then(|info| info.name()).unwrap_or_default();
        let input = Input::named(name).ok_or_else(|| {
            format!("its graph has the unknown input {name:?}: supported are input_ids, attention_mask, token_type_ids")
        })?;
        Ok((node, input))
    };
    graph.input_ids().iter().map(known).collect()
}

/// Builds one input of shape `[texts, padded]`. Padding follows the text and is masked, so that its id does not matter;
/// it is 0.
fn padded_input(input: Input, encodings: &[Encoding], padded: usize) -> Tensor<i32> {
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

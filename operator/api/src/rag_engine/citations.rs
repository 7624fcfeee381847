use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Citations of answers, on endpoints that check them. `endpoints` says which do.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Citations {
    /// Answer instead of one that cites nothing. Default: `The documents do not support an answer.`
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 250), regex(pattern = r"[^\s]"))]
    pub fallback_message: Option<String>,
    /// Phrases, in any case, that say in the first sentence of an answer that the documents do not suffice. Such an answer
    /// keeps its text and loses its citations. It replaces the whole default: `[not enough information, does not say, do
    /// not say]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 100), inner(length(min = 1, max = 50), regex(pattern = r"[^\s]")))]
    pub insufficient_phrases: Option<Vec<String>>,
    /// Whether the reply says how well each passage supports the sentences that cite it. This takes the embedding model
    /// up to 2 seconds. Default: false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verify: Option<bool>,
}

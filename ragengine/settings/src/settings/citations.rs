use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The citations of answers, on endpoints that check them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Citations {
    /// The answer instead of one that cites nothing. 1 to 1000 bytes.
    pub fallback_message: String,
    /// An answer with one of these phrases in its first sentence says that the documents do not suffice: its citations
    /// are removed. Words are whole, case does not matter. At most 100, each of 1 to 200 bytes.
    pub insufficient_phrases: Vec<String>,
    /// Whether the reply says how well each passage supports the sentences that cite it. It embeds these sentences,
    /// which takes the embedding model up to 2 seconds.
    pub verify: bool,
}

impl Default for Citations {
    fn default() -> Self {
        Self {
            fallback_message: "The documents do not support an answer.".to_owned(),
            insufficient_phrases: ["not enough information", "does not say", "do not say"].map(str::to_owned).into(),
            verify: false,
        }
    }
}

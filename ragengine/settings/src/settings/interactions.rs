use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::StateStore;

/// Earlier questions and their answers, as context for similar questions. A caller's interactions are only used for
/// that caller. See `endpoints` for where they are used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Interactions {
    /// Whether questions and answers are kept, for 90 days and at most 1,000 of each caller.
    pub enabled: bool,
    /// Where questions and answers are kept: `redb` (the file `state.redb` in `dataDir`) or `postgres`.
    pub store: StateStore,
    /// Whether they are kept for callers that are not known, too. All such callers share them.
    pub anonymous: bool,
    /// The provider of models whose names have none, such as `local` in `local/qwen3-8b`.
    pub provider_name: String,
    /// Maximum length of the context from interactions, in characters. 2,000 characters are about 500 tokens.
    pub max_chars: u32,
    /// The same for single models: their whole names, or the part behind the last `/`.
    pub max_chars_by_model: BTreeMap<String, u32>,
    /// Whether the provider, the category and the similarity of an interaction are in the prompt.
    pub include_metadata: bool,
    /// Maximum number of interactions that are compared with the words of the question.
    pub max_entries: u32,
    /// Maximum number of interactions in the prompt: those that share most words with the question.
    pub keep: u32,
    /// Maximum number of similar interactions that are looked for. 3 if the request names a provider.
    pub top_k: u32,
    /// Minimum similarity of the question of an interaction, 0 to 1.
    pub min_similarity: f32,
    /// The share of the question's words that must be in an interaction, 0 to 1, or `adaptive`: 0.05 for questions of
    /// more than 10 words, otherwise 0.15.
    pub overlap_threshold: OverlapThreshold,
}

impl Default for Interactions {
    fn default() -> Self {
        let by_model = [("gpt-4o", 4000), ("claude-3-5-haiku", 2000), ("gemini-pro", 3000)];
        Self {
            enabled: false,
            store: StateStore::Redb,
            anonymous: false,
            provider_name: "local".to_owned(),
            max_chars: 2000,
            max_chars_by_model: by_model.map(|(model, chars)| (model.to_owned(), chars)).into(),
            include_metadata: true,
            max_entries: 5,
            keep: 3,
            top_k: 5,
            min_similarity: 0.7,
            overlap_threshold: OverlapThreshold::Share(0.1),
        }
    }
}

/// The share of the question's words that must be in an interaction.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "a number such as 0.1, or adaptive")]
pub enum OverlapThreshold {
    /// The same for all questions.
    Share(f64),
    /// Less for long questions.
    Named(NamedThreshold),
}

/// A threshold with a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum NamedThreshold {
    /// 0.05 for questions of more than 10 words, otherwise 0.15.
    Adaptive,
}

impl JsonSchema for OverlapThreshold {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "OverlapThreshold".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let schema = json!({"anyOf": [{"type": "number", "minimum": 0, "maximum": 1}, {"const": "adaptive"}]});
        schema.try_into().unwrap_or_default()
    }
}

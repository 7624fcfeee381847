use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::StateStore;

/// Earlier questions and their answers, as context for similar questions. The fields `interactions` of `endpoints` say
/// where they are used.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Interactions {
    /// Whether questions and answers are kept, for 90 days and at most 1,000 of each caller. Default: false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Where they are kept. Default: `redb`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub store: Option<StateStore>,
    /// Whether they are also kept for callers that are not known. All such callers share them. Default: false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub anonymous: Option<bool>,
    /// Provider of models whose names have none, such as `local` in `local/qwen3-8b`. Default: `local`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 200), regex(pattern = r"^[!-~]+$"))]
    pub provider_name: Option<String>,
    /// Maximum length of the context from interactions, in characters. Default: 2000.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 10_000_000))]
    pub max_chars: Option<u32>,
    /// The same for single models, by their whole names or the part behind the last `/`. It replaces the whole default:
    /// `{gpt-4o: 4000, claude-3-5-haiku: 2000, gemini-pro: 3000}`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "characters")]
    pub max_chars_by_model: Option<BTreeMap<String, u32>>,
    /// Whether the provider, the category and the similarity of an interaction are in the prompt. Default: true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub include_metadata: Option<bool>,
    /// Maximum number of interactions that are compared with the words of the question. Default: 5.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    pub max_entries: Option<u32>,
    /// Maximum number of interactions in the prompt. Default: 3.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    pub keep: Option<u32>,
    /// Maximum number of similar interactions that are looked for. Default: 5, or 3 if the request names a provider.
    #[serde(rename = "topK", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    pub top_k: Option<u32>,
    /// Minimum similarity of the question of an interaction, from 0 to 1. Default: 0.7.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub min_similarity: Option<f64>,
    /// Share of the question's words that must be in an interaction, from 0 to 1, or `adaptive`: 0.05 for questions of
    /// more than 10 words, otherwise 0.15. Default: 0.1.
    // The type admits every value: one that it did not admit would hide all RAGEngines from the operator. The operator
    // reports what the schema lets pass.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "share_or_adaptive")]
    pub overlap_threshold: Option<Value>,
}

fn characters(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({
        "type": "object",
        "nullable": true,
        "maxProperties": 100,
        "additionalProperties": {"type": "integer", "format": "int32", "minimum": 1, "maximum": 10_000_000},
    })
}

/// A number or a word. Kubernetes has no type for it: a field without a type preserves unknown fields, and no CEL rule
/// sees it. The bounds apply to numbers and the pattern to strings.
fn share_or_adaptive(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({
        "x-kubernetes-preserve-unknown-fields": true,
        "nullable": true,
        "minimum": 0,
        "maximum": 1,
        "pattern": "^adaptive$",
    })
}

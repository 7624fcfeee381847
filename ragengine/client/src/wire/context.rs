use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A context of past interactions to assess.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AssessContext {
    /// The context: entries with `---` on a line between them.
    pub context: String,
    /// The question that it is for.
    pub query: String,
}

/// The measures of a context.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct ContextAssessment {
    /// `empty`. Only for an empty context, which has no other measures.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quality: Option<String>,
    /// 0. Only for an empty context.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<u8>,
    /// Number of entries.
    pub entry_count: usize,
    /// Number of characters.
    pub total_chars: usize,
    /// Number of characters, divided by the number of entries.
    pub avg_entry_length: f64,
    /// Whether it contains a `[`.
    pub has_metadata: bool,
    /// The similarities that its entries name.
    pub relevance_scores: Vec<f64>,
    /// The mean of these similarities. Missing if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub avg_similarity: Option<f64>,
    /// The least of these similarities.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_similarity: Option<f64>,
    /// The largest of these similarities.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_similarity: Option<f64>,
    /// Whether it has the form of a context.
    pub valid: bool,
    /// What is wrong with its form.
    pub warnings: Vec<String>,
    /// What the word filter leaves of it.
    pub filtered: String,
}

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which stages of the pipeline each endpoint has. A request can choose otherwise with its field `pipeline`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Endpoints {
    /// `/v1/chat/completions`.
    pub completions: CompletionsEndpoint,
    /// `/retrieve`.
    pub retrieve: RetrieveEndpoint,
}

/// The stages of `/v1/chat/completions`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct CompletionsEndpoint {
    /// Whether the acronyms of `rewrite.acronyms` are expanded in the question that is searched for.
    pub acronyms: bool,
    /// Whether a filter of `retrieval.filterRules` is chosen by the words of the question.
    pub filter_rules: bool,
}

/// The stages of `/retrieve`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct RetrieveEndpoint {
    /// Whether the acronyms of `rewrite.acronyms` are expanded in the query.
    pub acronyms: bool,
    /// Whether a filter of `retrieval.filterRules` is chosen by the words of the query.
    pub filter_rules: bool,
}

impl Default for RetrieveEndpoint {
    fn default() -> Self {
        Self { acronyms: true, filter_rules: false }
    }
}

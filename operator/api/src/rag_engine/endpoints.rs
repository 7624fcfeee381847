use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which stages of the pipeline each endpoint of the server has. A request can choose otherwise with `pipeline`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Endpoints {
    /// Stages of `/v1/chat/completions`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completions: Option<PipelineStages>,
    /// Stages of `/retrieve`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retrieve: Option<PipelineStages>,
}

/// Stages of an endpoint.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PipelineStages {
    /// Whether the acronyms of `rewrite.acronyms` are expanded. Default: true for `/retrieve`, otherwise false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acronyms: Option<bool>,
    /// Whether a filter of `retrieval.filterRules` is chosen by the words of the question. Default: false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filter_rules: Option<bool>,
}

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a question is rewritten before it is searched for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Rewrite {
    /// The model that rewrites questions, see `endpoints`. It is asked at `inferenceService.url` and must be in
    /// `inferenceService.models`, unless that is empty. A model that reasons before it replies is too slow. Default: the
    /// model of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Acronyms and their expansions, such as `GaCounts: Georgia Counts`. An acronym is matched as a whole word, in the
    /// same case. At most 200. See `endpoints` for where they are expanded.
    pub acronyms: BTreeMap<String, String>,
}

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How questions are rewritten before they are searched for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Rewrite {
    /// Model that rewrites questions, at `inferenceService.url`. A model that reasons before it replies is too slow.
    /// Default: the model of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 256))]
    pub model: Option<String>,
    /// Acronyms and their expansions, such as `GaCounts: Georgia Counts`. An acronym is matched as a whole word, in the
    /// same case. Default: none.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "acronyms")]
    pub acronyms: BTreeMap<String, String>,
}

fn acronyms(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({
        "type": "object",
        "maxProperties": 200,
        "additionalProperties": {"type": "string", "minLength": 1, "maxLength": 200},
    })
}

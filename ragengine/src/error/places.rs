//! The log text for a schema error: the path and kind of each fault, without text of the caller.

use ragengine_client::wire::FieldError;
use serde_json::Value;

/// Most faults in the log text.
const MAX_FIELDS: usize = 5;

/// Lists the path and kind of each fault. A field name that is not part of the API is replaced by `*`.
pub(super) fn places(errors: &[FieldError]) -> String {
    let part = |part: &Value| match part {
        Value::String(name) if KNOWN_FIELDS.contains(&name.as_str()) => name.clone(),
        Value::Number(position) => position.to_string(),
        _ => "*".to_owned(),
    };
    let place = |error: &FieldError| error.loc.iter().map(part).collect::<Vec<_>>().join(".");
    let faults = errors.iter().take(MAX_FIELDS).map(|error| format!("{}: {}", place(error), error.kind));
    faults.collect::<Vec<_>>().join("; ")
}

/// Names of the parts of a request, and of the API's fields and parameters.
const KNOWN_FIELDS: &[&str] = &[
    "body",
    "query",
    "path",
    "index_name",
    "documents",
    "doc_id",
    "doc_ids",
    "text",
    "metadata",
    "source",
    "revision",
    "split_type",
    "language",
    "chunking",
    "maxTokens",
    "overlapTokens",
    "vectorIndex",
    "max_node_count",
    "metadata_filter",
    "pipeline",
    "acronyms",
    "filter_rules",
    "limit",
    "offset",
    "max_text_length",
    "overwrite",
    "index",
    "after",
    "sync_id",
    "phase",
    "done",
    "total",
    "held_back",
    "confirmation",
    "errors",
    "error_count",
    "message",
    "input",
    "model",
    "encoding_format",
    "dimensions",
    "messages",
    "role",
    "content",
    "stream",
    "explain",
    "context_token_ratio",
];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const MARKER: &str = "text of a user";

    #[test]
    fn a_path_has_no_text_of_callers() {
        let error = |loc: Vec<Value>| FieldError { loc, msg: MARKER.to_owned(), kind: "type".to_owned() };
        let errors = [
            error(vec![json!("body"), json!("documents"), json!(3), json!("metadata"), json!(MARKER)]),
            error(vec![json!("body"), json!(MARKER)]),
        ];
        assert_eq!(places(&errors), "body.documents.3.metadata.*: type; body.*: type");
        assert_eq!(places(&vec![error(vec![json!("query")]); 9]).matches("query").count(), MAX_FIELDS);
    }
}

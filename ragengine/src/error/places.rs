//! What the log says of a body that is not what the API takes: where, and of which kind each fault is. The caller's own words are no part of
//! it.

use ragengine_client::wire::FieldError;
use serde_json::Value;

/// Of a long list of faults, the log names so many.
const MAX_FIELDS: usize = 5;

/// Where a body is at fault, and of which kind each fault is. A name that is none of ours is the caller's.
pub(super) fn places(errors: &[FieldError]) -> String {
    let part = |part: &Value| match part {
        Value::String(name) if KNOWN_FIELDS.contains(&name.as_str()) => name.clone(),
        Value::Number(position) => position.to_string(),
        _ => "*".to_owned(),
    };
    let place = |error: &FieldError| error.loc.iter().map(part).collect::<Vec<_>>().join(".");
    let told = errors.iter().take(MAX_FIELDS).map(|error| format!("{}: {}", place(error), error.kind));
    told.collect::<Vec<_>>().join("; ")
}

/// The names of the API's fields and parameters, and of the parts of a request.
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

    const MARKER: &str = "somebody's words";

    #[test]
    fn a_place_has_no_name_of_the_callers() {
        let error = |loc: Vec<Value>| FieldError { loc, msg: MARKER.to_owned(), kind: "type".to_owned() };
        let errors = [
            error(vec![json!("body"), json!("documents"), json!(3), json!("metadata"), json!(MARKER)]),
            error(vec![json!("body"), json!(MARKER)]),
        ];
        assert_eq!(places(&errors), "body.documents.3.metadata.*: type; body.*: type");
        assert_eq!(places(&vec![error(vec![json!("query")]); 9]).matches("query").count(), MAX_FIELDS);
    }
}

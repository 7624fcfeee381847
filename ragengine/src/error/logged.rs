//! What the log says of an error: all of its words where texts of others are logged, else only those that are our own. A variant that
//! is not named here may quote somebody: of it the log has no more than the length.

use ragengine_client::wire::FieldError;
use ragengine_embedding::Error as EmbeddingError;
use ragengine_pipeline::Rejection;
use serde_json::Value;

use super::ApiError;
use crate::embedding::LoadError;
use crate::index::IndexError;
use crate::index::archive::ArchiveError;
use crate::index::persisted::PersistedError;
use crate::llm::LlmError;
use crate::logging::{Logged, texts};

/// Of a long list of faults, the log names so many.
const MAX_FIELDS: usize = 5;

impl Logged for ApiError {
    fn own_words(&self) -> Option<String> {
        match self {
            Self::Schema(errors) => Some(places(errors)),
            Self::Rejected(rejection) => rejection.own_words(),
            Self::Index(error) => error.own_words(),
            Self::Embedding(error) => error.own_words(),
            Self::Llm(error) => error.own_words(),
            Self::Unauthorized(_)
            | Self::TooLarge { .. }
            | Self::BodyLost(_)
            | Self::Busy(_)
            | Self::Refused(_)
            | Self::NoModel(_)
            | Self::Internal(_) => Some(self.to_string()),
            _ => None,
        }
    }
}

impl Logged for Rejection {
    fn own_words(&self) -> Option<String> {
        match self {
            Self::Json(reason) => place_of(reason),
            Self::SeveralChoices
            | Self::Type { .. }
            | Self::EmptyUserContent(_)
            | Self::NoUserPrompt
            | Self::ContextWindow => Some(self.to_string()),
            _ => None,
        }
    }
}

impl Logged for LlmError {
    fn own_words(&self) -> Option<String> {
        Some(match self {
            Self::Refused { status, message, .. } => {
                format!("the language model answered {status}, in {}", texts::length(message))
            }
            Self::Elsewhere { status, location } => {
                format!("the language model redirects ({status}) elsewhere, named in {}", texts::length(location))
            }
            error => error.to_string(),
        })
    }
}

impl Logged for EmbeddingError {
    fn own_words(&self) -> Option<String> {
        match self {
            Self::Upstream { status, message } => {
                Some(format!("the embedding endpoint answered {status}, in {}", texts::length(message)))
            }
            Self::BadReply(reason) => {
                Some(format!("the embedding endpoint's reply cannot be used, for {}", texts::length(reason)))
            }
            error => Some(error.to_string()),
        }
    }
}

impl Logged for LoadError {
    fn own_words(&self) -> Option<String> {
        match self {
            Self::Model(error) => error.own_words(),
            error => Some(error.to_string()),
        }
    }
}

impl Logged for IndexError {
    fn own_words(&self) -> Option<String> {
        match self {
            Self::Document { position, reason } => Some(format!("document {position}: {}", texts::length(reason))),
            Self::Archive(ArchiveError::Damaged(reason)) => {
                Some(format!("the copy cannot be used: it is damaged, as {} say", texts::length(reason)))
            }
            Self::Persisted(PersistedError::Odd(_) | PersistedError::Store(_)) => Some(self.to_string()),
            Self::Embedding(error) => error.own_words(),
            Self::TooMany(_)
            | Self::OtherModel { .. }
            | Self::Exists(_)
            | Self::ManyIndexes { .. }
            | Self::Archive(_)
            | Self::Superseded(_)
            | Self::StillChanging
            | Self::NoGeneration(_)
            | Self::Filter(_)
            | Self::Chunking(_)
            | Self::Vectors(_)
            | Self::Store(_)
            | Self::Unavailable { .. }
            | Self::OtherVectors(_)
            | Self::NotShown { .. }
            | Self::ShuttingDown => Some(self.to_string()),
            _ => None,
        }
    }
}

/// Where a body is at fault, and of which kind each fault is. A name that is none of ours is the caller's.
fn places(errors: &[FieldError]) -> String {
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

/// `line 3 column 7`, where a parser's words end with it.
fn place_of(words: &str) -> Option<String> {
    let (_, place) = words.rsplit_once(" at line ")?;
    let (line, column) = place.split_once(" column ")?;
    let (line, column): (u64, u64) = (line.parse().ok()?, column.parse().ok()?);
    Some(format!("the body is not JSON at line {line} column {column}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const MARKER: &str = "somebody's words";

    #[test]
    fn nothing_of_others_is_said_unless_it_may_be() {
        let marker = || MARKER.to_owned();
        let embedding = || EmbeddingError::Upstream { status: 429, message: marker() };
        let index = |error: IndexError| ApiError::Index(error);
        for (error, expected) in [
            (ApiError::Meaning(marker()), "16 bytes"),
            (ApiError::NotFound(marker()), "16 bytes"),
            (ApiError::NotReady(marker()), "bytes"),
            (ApiError::MethodNotAllowed(marker()), "16 bytes"),
            (Rejection::Json(format!("{MARKER} at line 3 column 7")).into(), "line 3 column 7"),
            (Rejection::Json(format!("invalid at line {MARKER} column 7")).into(), "bytes"),
            (Rejection::Model { asked: marker(), allowed: Vec::new() }.into(), "bytes"),
            (Rejection::ContextTokenRatio(marker()).into(), "bytes"),
            (LlmError::Refused { status: 429, message: marker(), body: None, retry_after: None }.into(), "429, in 16"),
            (LlmError::Elsewhere { status: 308, location: marker() }.into(), "(308)"),
            (embedding().into(), "429, in 16 bytes"),
            (EmbeddingError::BadReply(marker()).into(), "16 bytes"),
            (index(IndexError::NoSuchIndex(marker())), "bytes"),
            (index(IndexError::Document { position: 3, reason: marker() }), "document 3: 16 bytes"),
            (index(IndexError::Embedding(embedding())), "429, in 16 bytes"),
            (index(ArchiveError::Damaged(marker()).into()), "16 bytes"),
            (index(PersistedError::Missing(marker()).into()), "bytes"),
            (index(IndexError::NotInCopy { index: marker(), indexes: vec![marker()] }), "bytes"),
        ] {
            let words = error.for_log();
            assert!(words.contains(expected) && !words.contains(MARKER), "{error:?}: {words}");
        }
        let own = ApiError::TooLarge { max_bytes: 7, setting: "limits.maxBodyBytes" };
        assert_eq!(own.for_log(), own.to_string());
    }

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

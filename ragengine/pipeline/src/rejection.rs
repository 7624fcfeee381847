//! Reasons to refuse a chat request.

use ragengine_errors::{Class, Fault, Logged};

use crate::filter::FilterError;

/// An invalid chat request. The status is always 400.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    /// The body is not JSON.
    #[error("The request body is not valid JSON: {0}.")]
    Json(String),
    /// A field has the wrong type, or a required one is missing.
    #[error("{message}")]
    Type {
        /// The field, as a path in the body.
        param: String,
        /// The message of the reply. It names the field and the type that it must have.
        message: String,
    },
    /// `pipeline` is not an object of stages. Holds the reason, which may quote the caller.
    #[error("pipeline must be an object of stages ({0}).")]
    Stages(String),
    /// `context_token_ratio` is out of bounds. Holds the number as the caller wrote it.
    #[error("Invalid context_token_ratio: {0}. Must be between 0.2 and 0.8.")]
    ContextTokenRatio(String),
    /// `metadata_filter` is not a filter.
    #[error("{0}")]
    Filter(FilterError),
    /// The settings do not allow the model that the caller named.
    #[error(
        "The model '{asked}' is not allowed (inferenceService.models). Allowed models: '{}'.",
        .allowed.join("', '")
    )]
    Model {
        /// The model that the caller named.
        asked: String,
        /// The models that the settings allow.
        allowed: Vec<String>,
    },
    /// The request names an index and `n` is more than 1.
    #[error("n > 1 is not supported.")]
    SeveralChoices,
    /// The content of a user message is empty. Holds the position of the message.
    #[error("messages[{0}]: the content of a user message must not be empty.")]
    EmptyUserContent(usize),
    /// The latest assistant message is not followed by a user prompt.
    #[error("There must be a user prompt since the latest assistant message.")]
    NoUserPrompt,
    /// The conversation, or the finished prompt, leaves no room in the context window.
    #[error("Prompt length exceeds context window.")]
    ContextWindow,
}

impl Rejection {
    /// A [`Rejection::Type`] with the message "PARAM must be MUST_BE."
    pub(crate) fn wrong_type(param: impl Into<String>, must_be: &str) -> Self {
        let param = param.into();
        Self::Type { message: format!("{param} must be {must_be}."), param }
    }

    /// A [`Rejection::Type`] with the message "PARAM WHAT.", for a field whose type is right and whose value is not.
    pub(crate) fn wrong_value(param: &str, what: &str) -> Self {
        Self::Type { message: format!("{param} {what}."), param: param.to_owned() }
    }
}

impl Fault for Rejection {
    fn class(&self) -> Class {
        Class::Invalid
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Json(_) => "json",
            Self::Type { .. } | Self::Stages(_) => "type",
            Self::ContextTokenRatio(_) => "context_token_ratio",
            Self::Filter(_) => "invalid_filter",
            Self::Model { .. } => "model_not_allowed",
            Self::SeveralChoices => "several_choices",
            Self::EmptyUserContent(_) => "empty_user_content",
            Self::NoUserPrompt => "no_user_prompt",
            Self::ContextWindow => "context_window",
        }
    }

    fn field(&self) -> Option<&str> {
        match self {
            Self::Json(_) => None,
            Self::Type { param, .. } => Some(param),
            Self::Stages(_) => Some("pipeline"),
            Self::ContextTokenRatio(_) => Some("context_token_ratio"),
            Self::Filter(_) => Some("metadata_filter"),
            Self::Model { .. } => Some("model"),
            Self::SeveralChoices => Some("n"),
            Self::EmptyUserContent(_) | Self::NoUserPrompt | Self::ContextWindow => Some("messages"),
        }
    }
}

impl Logged for Rejection {
    fn own_words(&self) -> Option<String> {
        match self {
            Self::Json(reason) => place_of(reason).map(|place| format!("the body is not valid JSON: {place}")),
            Self::SeveralChoices
            | Self::Type { .. }
            | Self::EmptyUserContent(_)
            | Self::NoUserPrompt
            | Self::ContextWindow => Some(self.to_string()),
            Self::Stages(reason) => Some(match place_of(reason) {
                Some(place) => format!("pipeline must be an object of stages: {place}"),
                None => "pipeline must be an object of stages".to_owned(),
            }),
            Self::Filter(error) => Some(error.own_words()),
            Self::ContextTokenRatio(_) | Self::Model { .. } => None,
        }
    }
}

/// The place in an error of the JSON parser. The log has only that, because the rest may quote the body.
/// `None` when the error does not end with a line and a column.
fn place_of(error: &str) -> Option<String> {
    let (_, place) = error.rsplit_once(" at line ")?;
    let (line, column) = place.split_once(" column ")?;
    let (line, column): (u64, u64) = (line.parse().ok()?, column.parse().ok()?);
    Some(format!("line {line} column {column}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_does_not_quote_the_request() {
        const MARKER: &str = "a private text";
        for (rejection, expected) in [
            (Rejection::Json(format!("{MARKER} at line 3 column 7")), "line 3 column 7"),
            (Rejection::Json(format!("invalid at line {MARKER} column 7")), "bytes"),
            (Rejection::Stages(format!("unknown field `{MARKER}` at line 1 column 9")), "stages: line 1 column 9"),
            (Rejection::Stages(MARKER.to_owned()), "pipeline must be an object of stages"),
            (Rejection::Model { asked: MARKER.to_owned(), allowed: Vec::new() }, "bytes"),
            (Rejection::ContextTokenRatio(MARKER.to_owned()), "bytes"),
        ] {
            let logged = rejection.for_log();
            assert!(logged.contains(expected) && !logged.contains(MARKER), "{rejection:?}: {logged}");
        }
    }
}

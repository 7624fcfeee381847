//! Why a chat request is refused.

use ragengine_errors::{Class, Fault, Logged};

/// A request that cannot be served as it is. Each is a 400 of the caller's.
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
        /// What it must be.
        message: String,
    },
    /// `context_token_ratio` is out of its bounds. Holds the number as it was written.
    #[error("Invalid context_token_ratio: {0}. Must be between 0.2 and 0.8.")]
    ContextTokenRatio(String),
    /// The model that the caller named is none of those that may be asked for.
    #[error("The model '{asked}' may not be asked for here (inferenceService.models): use '{}'.", .allowed.join("', '"))]
    Model {
        /// What the caller named.
        asked: String,
        /// What may be asked for.
        allowed: Vec<String>,
    },
    /// More than one choice was asked for together with an index.
    #[error("n > 1 is not supported.")]
    SeveralChoices,
    /// A user message says nothing.
    #[error("messages[{0}]: the content of a user message must not be empty.")]
    EmptyUserContent(usize),
    /// The conversation does not end with the user's turn.
    #[error("There must be a user prompt since the latest assistant message.")]
    NoUserPrompt,
    /// The conversation, or the finished prompt, leaves no room in the context window.
    #[error("Prompt length exceeds context window.")]
    ContextWindow,
}

impl Rejection {
    /// A [`Rejection::Type`] whose message names the field.
    pub(crate) fn wrong_type(param: impl Into<String>, must_be: &str) -> Self {
        let param = param.into();
        Self::Type { message: format!("{param} must be {must_be}."), param }
    }

    /// A [`Rejection::Type`] of a field of which something else is wrong.
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
            Self::Type { .. } => "type",
            Self::ContextTokenRatio(_) => "context_token_ratio",
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
            Self::ContextTokenRatio(_) => Some("context_token_ratio"),
            Self::Model { .. } => Some("model"),
            Self::SeveralChoices => Some("n"),
            Self::EmptyUserContent(_) | Self::NoUserPrompt | Self::ContextWindow => Some("messages"),
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
            Self::ContextTokenRatio(_) | Self::Model { .. } => None,
        }
    }
}

/// `line 3 column 7`, where a parser's words end with it.
fn place_of(words: &str) -> Option<String> {
    let (_, place) = words.rsplit_once(" at line ")?;
    let (line, column) = place.split_once(" column ")?;
    let (line, column): (u64, u64) = (line.parse().ok()?, column.parse().ok()?);
    Some(format!("the body is not JSON at line {line} column {column}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_has_no_words_of_the_callers() {
        const MARKER: &str = "somebody's words";
        for (rejection, expected) in [
            (Rejection::Json(format!("{MARKER} at line 3 column 7")), "line 3 column 7"),
            (Rejection::Json(format!("invalid at line {MARKER} column 7")), "bytes"),
            (Rejection::Model { asked: MARKER.to_owned(), allowed: Vec::new() }, "bytes"),
            (Rejection::ContextTokenRatio(MARKER.to_owned()), "bytes"),
        ] {
            let words = rejection.for_log();
            assert!(words.contains(expected) && !words.contains(MARKER), "{rejection:?}: {words}");
        }
    }
}

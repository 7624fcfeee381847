//! The reply of a conversation.

use serde_json::Value;

use super::open_turn::OpenTurn;
use super::relay::Fields;
use crate::retrieval::stages::Endpoint;

/// The value of the field `history` if the conversation cannot be read or kept.
pub(super) const HISTORY_UNAVAILABLE: &str = "\"unavailable\"";

/// Keeps the turn of a finished answer. Returns whether it is kept. Without a turn there is nothing to keep.
pub(super) async fn keep(turn: Option<OpenTurn>) -> bool {
    match turn {
        Some(turn) => turn.end().await,
        None => true,
    }
}

/// The reply of a conversation, as JSON on one line. That of `/chat` begins with an additional field, the question.
pub(super) fn reply(endpoint: Endpoint, answer: &str, mut fields: Fields, is_kept: bool) -> String {
    if !is_kept {
        fields.push(("history", HISTORY_UNAVAILABLE.to_owned()));
    }
    let place = if endpoint == Endpoint::Chat { 1 } else { 0 };
    fields.insert(place.min(fields.len()), ("answer", Value::from(answer).to_string()));
    let fields: Vec<String> = fields.into_iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
    format!("{{{}}}", fields.join(","))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_reply_has_the_answer_first() {
        let fields = || vec![("sources", "[]".to_owned()), ("session_id", "\"abc12345\"".to_owned())];
        assert_eq!(
            reply(Endpoint::Query, "1 May\n\"[1]\"", fields(), true),
            r#"{"answer":"1 May\n\"[1]\"","sources":[],"session_id":"abc12345"}"#
        );
        let chat = vec![("query", "\"Why?\"".to_owned()), ("citations", "[]".to_owned())];
        assert_eq!(reply(Endpoint::Chat, "So.", chat, true), r#"{"query":"Why?","answer":"So.","citations":[]}"#);
        let reply: Value = serde_json::from_str(&reply(Endpoint::Query, "", fields(), false)).unwrap();
        assert_eq!(reply["history"], json!("unavailable"));
    }
}

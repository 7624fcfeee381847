//! The reply of a conversation.

use serde_json::Value;

use super::open_turn::OpenTurn;
use super::relay::Fields;

/// The value of the field `history` if the conversation cannot be read or kept.
pub(super) const HISTORY_UNAVAILABLE: &str = "\"unavailable\"";

/// Keeps the turn of a finished answer. Returns whether it is kept. Without a turn there is nothing to keep.
pub(super) async fn keep(turn: Option<OpenTurn>) -> bool {
    match turn {
        Some(turn) => turn.end().await,
        None => true,
    }
}

/// The reply of a conversation, as JSON on one line.
pub(super) fn reply(answer: &str, mut fields: Fields, is_kept: bool) -> String {
    if !is_kept {
        fields.push(("history", HISTORY_UNAVAILABLE.to_owned()));
    }
    let fields: String = fields.into_iter().map(|(name, value)| format!(",\"{name}\":{value}")).collect();
    format!("{{\"answer\":{}{fields}}}", Value::from(answer))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_reply_has_the_answer_first() {
        let fields = || vec![("sources", "[]".to_owned()), ("session_id", "\"abc12345\"".to_owned())];
        assert_eq!(
            reply("1 May\n\"[1]\"", fields(), true),
            r#"{"answer":"1 May\n\"[1]\"","sources":[],"session_id":"abc12345"}"#
        );
        let reply: Value = serde_json::from_str(&reply("", fields(), false)).unwrap();
        assert_eq!(reply["history"], json!("unavailable"));
    }
}

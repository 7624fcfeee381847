//! A turn as a member of the sorted set: JSON without the sources, which have a separate key. The scripts look up its
//! sizes and its number.

use serde::{Deserialize, Serialize};

use super::super::Turn;
use crate::StoreError;

/// The version of members. Another version cannot be read.
const VERSION: u32 = 1;

/// The member. What the scripts look up is in front of texts, which may look the same.
#[derive(Serialize, Deserialize)]
struct Line {
    version: u32,
    spoken_bytes: usize,
    bytes: usize,
    seq: u64,
    question: String,
    answer: String,
    response_time_ms: u64,
    model: Option<String>,
    answer_id: Option<String>,
    complete: bool,
    created_at_ms: i64,
}

/// The member of a turn.
///
/// # Errors
///
/// If the turn cannot be encoded, which its type rules out.
pub(super) fn encode(turn: &Turn) -> Result<String, StoreError> {
    let line = Line {
        version: VERSION,
        spoken_bytes: turn.spoken_bytes(),
        bytes: turn.bytes(),
        seq: turn.seq,
        question: turn.question.clone(),
        answer: turn.answer.clone(),
        response_time_ms: turn.response_time_ms,
        model: turn.model.clone(),
        answer_id: turn.answer_id.clone(),
        complete: turn.complete,
        created_at_ms: turn.created_at_ms,
    };
    let invalid = |error: serde_json::Error| StoreError::Damaged(error.to_string());
    serde_json::to_string(&line).map_err(invalid)
}

/// The turn of a member, with its sources if there are any. None if it cannot be read.
pub(super) fn decode(member: &[u8], sources: Option<&[u8]>) -> Option<Turn> {
    let line: Line = serde_json::from_slice(member).ok().filter(|line: &Line| line.version == VERSION)?;
    Some(Turn {
        seq: line.seq,
        question: line.question,
        answer: line.answer,
        sources: sources.map(String::from_utf8_lossy).unwrap_or_default().into_owned(),
        response_time_ms: line.response_time_ms,
        model: line.model,
        answer_id: line.answer_id,
        complete: line.complete,
        created_at_ms: line.created_at_ms,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn() -> Turn {
        Turn {
            seq: 7,
            question: "\"bytes\":0\n\0\u{1F600}".to_owned(),
            answer: "\\n'".to_owned(),
            sources: "[\"a\nb\"]".to_owned(),
            model: Some("m".to_owned()),
            created_at_ms: -1,
            ..Turn::default()
        }
    }

    #[test]
    fn a_member_has_its_sizes_in_front_and_no_sources() {
        let member = encode(&turn()).unwrap();
        assert!(member.starts_with(r#"{"version":1,"spoken_bytes":18,"bytes":26,"seq":7,"#), "{member}");
        assert_eq!(decode(member.as_bytes(), Some(turn().sources.as_bytes())), Some(turn()));
        assert_eq!(decode(member.as_bytes(), None), Some(Turn { sources: String::new(), ..turn() }));
    }

    #[test]
    fn other_members_cannot_be_read() {
        let newer = encode(&turn()).unwrap().replace("\"version\":1", "\"version\":2");
        for member in ["", "\n", "{}", "null", "[1]", &newer] {
            assert_eq!(decode(member.as_bytes(), None), None, "{member}");
        }
        assert_eq!(decode(&[0xff], None), None);
    }
}

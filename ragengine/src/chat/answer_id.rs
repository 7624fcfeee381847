//! Ids of answers, and who votes on them.
//!
//! The session of a caller whose name is not known is a part of the answer's id, as a hash. So a vote tells the people
//! of different sessions apart, and the store needs no other column.

use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::question::Asked;
use crate::access::Caller;

/// The characters of a UUID.
const UUID_CHARACTERS: usize = 36;

/// The bytes of a session's hash in an id.
const HASH_BYTES: usize = 8;

/// The id of a new answer.
pub(super) fn of(asked: &Asked) -> String {
    let session = asked.way.conversation.as_ref().map(|conversation| conversation.session_id.as_str());
    made(session.filter(|_| !asked.is_caller_known))
}

fn made(session_id: Option<&str>) -> String {
    let id = Uuid::new_v4();
    match session_id {
        Some(session_id) => format!("{id}-{}", hash(session_id)),
        None => id.to_string(),
    }
}

fn hash(session_id: &str) -> String {
    hex::encode(&Sha256::digest(session_id)[..HASH_BYTES])
}

/// The voter of a caller's vote on an answer: the caller, else the session of the answer. Without both, all callers are
/// one voter.
pub fn voter(caller: &Caller, answer_id: &str) -> String {
    let session = answer_id.get(UUID_CHARACTERS..).and_then(|rest| rest.strip_prefix('-'));
    match session.filter(|_| !caller.is_known()) {
        Some(session) => of_session(session),
        None => caller.owner().to_owned(),
    }
}

/// The voter of the votes that callers without a name give on the answers of a session.
pub fn session_voter(session_id: &str) -> String {
    of_session(&hash(session_id))
}

fn of_session(hash: &str) -> String {
    format!("session:{hash}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callers_without_a_name_are_told_apart_by_their_sessions() {
        let caller = Caller::anonymous(None);
        let voter_of = |session_id| voter(&caller, &made(session_id));
        let (one, other) = (voter_of(Some("session-1")), voter_of(Some("session-2")));
        assert!(one.starts_with("session:") && !one.contains("session-1"), "{one}");
        assert_eq!(one, voter_of(Some("session-1")));
        assert_eq!(one, session_voter("session-1"));
        assert_ne!(one, other);
        assert_eq!(voter_of(None), "-");
        for broken in ["", "a", "ä-ä", &"ä".repeat(30)] {
            assert_eq!(voter(&caller, broken), "-", "{broken}");
        }
    }
}

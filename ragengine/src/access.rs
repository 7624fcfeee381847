//! Authentication and authorization.

mod accepted;
mod unauthorized;
mod write_token;

use std::sync::Arc;

use axum::http::HeaderMap;
pub use unauthorized::Unauthorized;
pub use write_token::WriteToken;

/// The sender of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Caller {
    /// No valid write token. Carries the error for writes, if the server requires a token.
    Anonymous(Option<Unauthorized>),
    /// The request had the write token.
    Writer,
}

/// The kind of access that a request needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Chatting, retrieving, listing or describing.
    Read,
    /// Changing an index.
    Write,
    /// Copying whole indexes: backup, restore, persist and load.
    Copy,
}

/// Determines the caller from the Authorization header.
pub fn authenticate(token: Option<&Arc<WriteToken>>, headers: &HeaderMap) -> Caller {
    match token.map(|token| token.check(headers)) {
        None => Caller::Anonymous(None),
        Some(Ok(())) => Caller::Writer,
        Some(Err(missing)) => Caller::Anonymous(Some(missing)),
    }
}

/// Checks whether a caller may perform an action on an index, or on any index if none is given. All authorization
/// decisions are made here.
///
/// # Errors
///
/// [`Unauthorized`] when the write token is missing or wrong.
pub fn may(caller: &Caller, action: Action, _index: Option<&str>) -> Result<(), Unauthorized> {
    match (action, caller) {
        (Action::Write | Action::Copy, Caller::Anonymous(Some(missing))) => Err(missing.clone()),
        (Action::Write | Action::Copy, Caller::Anonymous(None) | Caller::Writer) | (Action::Read, _) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::unauthorized::Missing;
    use super::*;

    #[test]
    fn reads_need_no_token_and_writes_need_one_if_it_is_set() {
        let missing = Unauthorized { missing: Missing::Everything, source: None };
        let (without_token, no_token_needed) = (Caller::Anonymous(Some(missing.clone())), Caller::Anonymous(None));
        for (caller, action, expected) in [
            (&without_token, Action::Read, Ok(())),
            (&without_token, Action::Write, Err(missing.clone())),
            (&without_token, Action::Copy, Err(missing)),
            (&no_token_needed, Action::Write, Ok(())),
            (&no_token_needed, Action::Copy, Ok(())),
            (&Caller::Writer, Action::Read, Ok(())),
            (&Caller::Writer, Action::Write, Ok(())),
            (&Caller::Writer, Action::Copy, Ok(())),
        ] {
            for index in [None, Some("docs")] {
                assert_eq!(may(caller, action, index), expected, "{caller:?} {action:?}");
            }
        }
    }
}

//! Who asks, and what they may.

mod accepted;
mod unauthorized;
mod write_token;

use std::sync::Arc;

use axum::http::HeaderMap;
pub use unauthorized::Unauthorized;
pub use write_token::WriteToken;

/// Who sent a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Caller {
    /// Nobody in particular. With what is missing for a write, where the server wants a token for those.
    Anonymous(Option<Unauthorized>),
    /// Whoever has the write token.
    Writer,
}

/// What a caller wants to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Answer, find, list or describe.
    Read,
    /// Change something.
    Write,
    /// Take everything along, or put it in the place of what is there.
    Copy,
}

/// Who a request is from. The write token is looked for in its head.
pub fn authenticate(token: Option<&Arc<WriteToken>>, headers: &HeaderMap) -> Caller {
    match token.map(|token| token.check(headers)) {
        None => Caller::Anonymous(None),
        Some(Ok(())) => Caller::Writer,
        Some(Err(missing)) => Caller::Anonymous(Some(missing)),
    }
}

/// Whether a caller may do something: with one index, or where none is named with any. The one place that decides.
///
/// # Errors
///
/// [`Unauthorized`] with what is wanted.
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
    fn everybody_reads_and_a_token_that_is_set_writes() {
        let missing = Unauthorized { missing: Missing::Everything, source: None };
        let (stranger, anybody) = (Caller::Anonymous(Some(missing.clone())), Caller::Anonymous(None));
        for (caller, action, expected) in [
            (&stranger, Action::Read, Ok(())),
            (&stranger, Action::Write, Err(missing.clone())),
            (&stranger, Action::Copy, Err(missing)),
            (&anybody, Action::Write, Ok(())),
            (&anybody, Action::Copy, Ok(())),
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

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
    /// A caller whose name is known.
    Known {
        /// The name, which is unique: two callers with one name are the same.
        principal: String,
        /// The error for writes, if the caller may not write.
        refusal: Option<Unauthorized>,
    },
}

/// The owner of what callers leave behind whose names are not known. They share it.
const UNKNOWN_OWNER: &str = "-";

impl Caller {
    /// The owner of what the caller leaves behind, such as interactions. Others cannot see it.
    pub fn owner(&self) -> &str {
        match self {
            Self::Known { principal, .. } => principal,
            Self::Anonymous(_) | Self::Writer => UNKNOWN_OWNER,
        }
    }

    /// Whether the caller's name is known.
    pub fn is_known(&self) -> bool {
        matches!(self, Self::Known { .. })
    }
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
        (Action::Read, _) | (_, Caller::Writer) => Ok(()),
        (Action::Write | Action::Copy, Caller::Anonymous(refusal) | Caller::Known { refusal, .. }) => {
            refusal.clone().map_or(Ok(()), Err)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::unauthorized::Missing;
    use super::*;

    fn known(refusal: Option<Unauthorized>) -> Caller {
        Caller::Known { principal: "user:ann".to_owned(), refusal }
    }

    #[test]
    fn callers_without_a_name_have_the_same_owner() {
        assert_eq!((known(None).owner(), known(None).is_known()), ("user:ann", true));
        for caller in [Caller::Anonymous(None), Caller::Writer] {
            assert_eq!((caller.owner(), caller.is_known()), ("-", false));
        }
    }

    #[test]
    fn reads_need_no_token_and_writes_need_one_if_it_is_set() {
        let missing = Unauthorized { missing: Missing::Everything, source: None };
        let (without_token, no_token_needed) = (Caller::Anonymous(Some(missing.clone())), Caller::Anonymous(None));
        for (caller, action, expected) in [
            (&without_token, Action::Read, Ok(())),
            (&without_token, Action::Write, Err(missing.clone())),
            (&without_token, Action::Copy, Err(missing.clone())),
            (&no_token_needed, Action::Write, Ok(())),
            (&no_token_needed, Action::Copy, Ok(())),
            (&known(None), Action::Write, Ok(())),
            (&known(Some(missing.clone())), Action::Read, Ok(())),
            (&known(Some(missing.clone())), Action::Write, Err(missing.clone())),
            (&known(Some(missing.clone())), Action::Copy, Err(missing.clone())),
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

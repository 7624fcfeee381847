//! Authentication and authorization.
//!
//! The write token is tried first. With `auth.modes`, other callers are known by their tokens, see
//! [`ragengine_access`], and rules say which indexes they may use. All decisions are made in [`may`].

mod accepted;
mod caller;
mod control;
mod denied;
mod rate;
mod unauthorized;
mod write_token;

use axum::http::HeaderMap;
pub use caller::{Audited, Caller};
pub use control::AccessControl;
pub use denied::Denied;
use ragengine_access::Action as IndexAction;
pub use rate::{Rate, TooMany};
pub use unauthorized::Unauthorized;
pub use write_token::WriteToken;

use self::caller::Who;
use crate::app::App;

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

/// Paths that are open to every caller: those of probes and monitors, and the page.
const OPEN: [&str; 8] = ["/", "/docs", "/livez", "/readyz", "/health", "/status", "/metrics", "/openapi.json"];

/// Whether a path is open to every caller.
fn is_open(path: &str) -> bool {
    OPEN.contains(&path) || path.starts_with("/page/")
}

/// Determines the caller from the Authorization header.
pub async fn authenticate(app: &App, headers: &HeaderMap) -> Caller {
    let refusal = match app.write_token.as_ref().map(|token| token.check(headers)) {
        Some(Ok(())) => return Caller::writer(),
        Some(Err(missing)) => Some(missing),
        None => None,
    };
    match app.access.get() {
        Some(control) => control.authenticate(headers, refusal).await,
        None if app.settings.auth.modes.is_empty() => Caller::anonymous(refusal),
        None => Caller::refused(control::not_loaded()),
    }
}

/// Checks whether a caller may send requests to this path at all.
///
/// # Errors
///
/// [`Denied::Refused`] when the server wants to know its callers and does not know this one.
pub fn may_enter(caller: &Caller, path: &str) -> Result<(), Denied> {
    match &caller.who {
        Who::Refused(refused) if !is_open(path) => Err(refused.clone().into()),
        _ => Ok(()),
    }
}

/// Checks whether a caller may perform an action on some index. [`may`] decides about the index that the request names.
///
/// # Errors
///
/// [`Denied`].
pub fn may_on_some_index(caller: &Caller, action: Action) -> Result<(), Denied> {
    match (action, &caller.who) {
        (Action::Write, Who::Known(_)) => Ok(()),
        _ => decide(caller, action, None),
    }
}

/// Checks whether a caller may perform an action on an index, or on all indexes if none is given. All authorization
/// decisions are made here. The audit log then names the index.
///
/// # Errors
///
/// [`Denied`].
pub fn may(caller: &Caller, action: Action, index: Option<&str>) -> Result<(), Denied> {
    if let (Some(audited), Some(index)) = (&caller.audited, index) {
        audited.note(index);
    }
    decide(caller, action, index)
}

/// Whether a caller sees an index in a list.
pub fn sees(caller: &Caller, index: &str) -> bool {
    decide(caller, Action::Read, Some(index)).is_ok()
}

fn decide(caller: &Caller, action: Action, index: Option<&str>) -> Result<(), Denied> {
    match (action, &caller.who) {
        (_, Who::Writer) | (Action::Read, Who::Anonymous(_)) => Ok(()),
        (Action::Write | Action::Copy, Who::Anonymous(refusal)) => {
            refusal.clone().map_or(Ok(()), |refusal| Err(refusal.into()))
        }
        (_, Who::Refused(refused)) => Err(refused.clone().into()),
        (Action::Copy, Who::Known(_)) => Err(Denied::Copy),
        (Action::Read, Who::Known(known)) => known.require(IndexAction::Read, index),
        (Action::Write, Who::Known(known)) => known.require(IndexAction::Write, index),
    }
}

#[cfg(test)]
mod tests;

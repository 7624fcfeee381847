use std::sync::Arc;

use parking_lot::Mutex;
use ragengine_access::{Access, Action, Identity, Refused};

use super::{Denied, Unauthorized};

/// The owner of what callers leave behind whose names are not known. They share it.
const UNKNOWN_OWNER: &str = "-";

/// The most characters of an index name in errors and in the audit log. The name of a caller may be of any length.
const MAX_SHOWN_CHARACTERS: usize = 128;

/// The sender of a request.
#[derive(Debug, Clone)]
pub struct Caller {
    pub(super) who: Who,
    pub(super) audited: Option<Arc<Audited>>,
}

/// What is known about the sender of a request.
#[derive(Debug, Clone)]
pub(super) enum Who {
    /// No valid write token, on a server that lets everyone read. Carries the error for writes, if the server requires a
    /// token.
    Anonymous(Option<Unauthorized>),
    /// The request had the write token.
    Writer,
    /// A caller whose name is known, with the rules that held when the request came.
    Known(Arc<Known>),
    /// A caller who is not let in.
    Refused(Refused),
}

/// A caller whose name is known.
#[derive(Debug)]
pub(super) struct Known {
    pub identity: Identity,
    /// None: it may use every index.
    pub access: Option<Arc<Access>>,
}

impl Known {
    /// Checks the rules for an index. What names no index wants a known caller only, but changing needs an index.
    pub fn require(&self, action: Action, index: Option<&str>) -> Result<(), Denied> {
        let is_allowed = match (&self.access, index) {
            (None, _) => true,
            (Some(access), Some(index)) => access.may(&self.identity, action, index),
            (Some(_), None) => action == Action::Read,
        };
        let denied = || match index {
            Some(index) => Denied::Index { action, index: shortened(index).to_owned() },
            None => Denied::AllIndexes,
        };
        if is_allowed { Ok(()) } else { Err(denied()) }
    }
}

impl Caller {
    /// A caller whose name is not known. The error is that for writes, if they need a token.
    pub fn anonymous(refusal: Option<Unauthorized>) -> Self {
        Self::new(Who::Anonymous(refusal))
    }

    /// A caller with the write token.
    pub fn writer() -> Self {
        Self::new(Who::Writer)
    }

    /// A caller whose name is known, and the rules for it. Without rules it may use every index.
    pub fn known(identity: Identity, access: Option<Arc<Access>>) -> Self {
        Self::new(Who::Known(Arc::new(Known { identity, access })))
    }

    /// A caller who is not let in.
    pub fn refused(refused: Refused) -> Self {
        Self::new(Who::Refused(refused))
    }

    fn new(who: Who) -> Self {
        Self { who, audited: None }
    }

    /// Notes the index of the request for the audit log.
    #[must_use]
    pub fn audited(mut self, audited: &Arc<Audited>) -> Self {
        self.audited = Some(Arc::clone(audited));
        self
    }

    fn identity(&self) -> Option<&Identity> {
        match &self.who {
            Who::Known(known) => Some(&known.identity),
            Who::Anonymous(_) | Who::Writer | Who::Refused(_) => None,
        }
    }

    /// The owner of what the caller leaves behind, such as interactions. Others cannot see it.
    pub fn owner(&self) -> &str {
        self.principal().unwrap_or(UNKNOWN_OWNER)
    }

    /// The caller's name.
    pub fn principal(&self) -> Option<&str> {
        Some(self.identity()?.principal.as_str())
    }

    /// The caller's name for logs. The bearer of the write token has none of its own.
    pub fn logged(&self) -> Option<&str> {
        match &self.who {
            Who::Writer => Some("writeToken"),
            _ => self.principal(),
        }
    }

    /// The model that the caller's session names.
    pub fn model_id(&self) -> Option<&str> {
        self.identity()?.model_id.as_deref()
    }

    /// Whether the caller's name is known.
    pub fn is_known(&self) -> bool {
        self.identity().is_some()
    }
}

/// The index of a request, for the audit log.
#[derive(Debug, Default)]
pub struct Audited(Mutex<Option<String>>);

impl Audited {
    /// The request is about this index.
    pub(super) fn note(&self, index: &str) {
        let index = shortened(index);
        let mut noted = self.0.lock();
        if noted.as_deref() != Some(index) {
            *noted = Some(index.to_owned());
        }
    }

    /// The index that was noted last.
    pub fn index(&self) -> Option<String> {
        self.0.lock().clone()
    }
}

/// The beginning of a name. Valid names of indexes are shorter.
fn shortened(name: &str) -> &str {
    name.char_indices().nth(MAX_SHOWN_CHARACTERS).map_or(name, |(end, _)| &name[..end])
}

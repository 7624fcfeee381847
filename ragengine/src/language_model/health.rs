//! The health of the language model, derived from its replies.
//!
//! A background task fetches the endpoint's list of models, and each chat reports its result. Neither is reliable
//! alone: some endpoints list their models without a key but refuse chats without one, others have no list, or hide it
//! from keys that are valid for chats.

use std::fmt;

use parking_lot::RwLock;

/// A failed reply of the endpoint: our description and the endpoint's own message.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Heard {
    /// What happened: the HTTP status, or why there was no reply.
    pub what: String,
    /// The endpoint's message. Empty if there is none.
    pub message: String,
}

impl fmt::Display for Heard {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.message.as_str() {
            "" => formatter.write_str(&self.what),
            message => write!(formatter, "{}: {message}", self.what),
        }
    }
}

/// One observation of the endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sign {
    /// The endpoint listed its models.
    Listed,
    /// The endpoint has no list, or one that does not show its health.
    NoList,
    /// The endpoint refused to list its models, with 401 or 403.
    ListRefused(Heard),
    /// The endpoint did not reply, or replied with a server error.
    Silent(Heard),
    /// The endpoint answered a chat.
    ChatAnswered,
    /// The endpoint refused a chat because of the key, with 401.
    ChatUnauthorized(Heard),
    /// The endpoint refused a chat with 403, because of the key or because of that chat.
    ChatForbidden(Heard),
    /// The endpoint did not reply to a chat, or replied with a server error. Single chats can fail like this.
    ChatFailed,
}

/// Why the language model is considered down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// It does not reply.
    Silent,
    /// It refuses to list its models.
    ListRefused,
    /// It refused a chat with 401.
    ChatUnauthorized,
    /// It refused a chat with 403.
    ChatForbidden,
}

impl Cause {
    /// The name of the cause in the log.
    pub fn label(self) -> &'static str {
        match self {
            Self::Silent => "silent",
            Self::ListRefused => "list_refused",
            Self::ChatUnauthorized => "chat_unauthorized",
            Self::ChatForbidden => "chat_forbidden",
        }
    }
}

/// The known state of the language model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum State {
    /// No observation yet.
    #[default]
    Unknown,
    /// It answers.
    Up,
    /// It does not answer.
    Down {
        /// Why it is considered down.
        cause: Cause,
        /// The failed reply.
        heard: Heard,
    },
}

/// The state derived from all observations.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Diagnosis {
    state: State,
    /// Whether the list of models shows if chats work. It does not if chats are answered while the list fails.
    trusts_list: bool,
}

impl Diagnosis {
    /// The next diagnosis. The list decides, except for a chat that is answered or refused because of the key.
    fn after(&self, sign: Sign) -> Self {
        let down = |cause, heard| State::Down { cause, heard };
        let cause = match &self.state {
            State::Down { cause, .. } => Some(*cause),
            State::Unknown | State::Up => None,
        };
        let same = || self.state.clone();
        let (state, trusts_list) = match (sign, cause) {
            // A list that is readable without a key does not prove that the key is valid.
            (Sign::Listed, Some(Cause::ChatUnauthorized)) => (same(), true),
            (Sign::Listed, _) => (State::Up, true),
            (Sign::NoList, Some(Cause::Silent | Cause::ListRefused)) => (State::Unknown, self.trusts_list),
            (Sign::NoList, _) => (same(), self.trusts_list),
            (Sign::ListRefused(_) | Sign::Silent(_), _) if !self.trusts_list => (same(), false),
            (Sign::ListRefused(heard), _) => (down(Cause::ListRefused, heard), true),
            (Sign::Silent(heard), _) => (down(Cause::Silent, heard), true),
            (Sign::ChatAnswered, Some(Cause::Silent | Cause::ListRefused)) => (State::Up, false),
            (Sign::ChatAnswered, _) => (State::Up, self.trusts_list),
            (Sign::ChatUnauthorized(_), Some(Cause::ListRefused | Cause::ChatUnauthorized)) => (same(), true),
            (Sign::ChatUnauthorized(heard), _) => (down(Cause::ChatUnauthorized, heard), true),
            (Sign::ChatForbidden(heard), None | Some(Cause::Silent)) => (down(Cause::ChatForbidden, heard), true),
            (Sign::ChatForbidden(_), Some(_)) => (same(), true),
            (Sign::ChatFailed, _) => (same(), true),
        };
        Self { state, trusts_list }
    }
}

/// A change of the state that is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// It is down now, or down for another cause.
    WentDown(Cause),
    /// It was down and answers again.
    CameBack,
}

/// The health of the endpoint, shared between tasks.
pub struct Health(RwLock<Diagnosis>);

impl Default for Health {
    fn default() -> Self {
        Self(RwLock::new(Diagnosis { state: State::Unknown, trusts_list: true }))
    }
}

impl Health {
    /// The current state.
    pub fn state(&self) -> State {
        self.0.read().state.clone()
    }

    /// Updates the state with an observation. Returns the change, if there is one to log.
    pub fn sees(&self, sign: Sign) -> Option<Change> {
        // Every chat reports this, so the common case needs only the read lock.
        if sign == Sign::ChatAnswered && self.0.read().state == State::Up {
            return None;
        }
        let mut diagnosis = self.0.write();
        let after = diagnosis.after(sign);
        let before = std::mem::replace(&mut *diagnosis, after);
        match (&before.state, &diagnosis.state) {
            (State::Down { cause: before, .. }, State::Down { cause, .. }) if before == cause => None,
            (_, State::Down { cause, .. }) => Some(Change::WentDown(*cause)),
            (State::Down { .. }, State::Up | State::Unknown) => Some(Change::CameBack),
            (State::Unknown | State::Up, State::Unknown | State::Up) => None,
        }
    }
}

#[cfg(test)]
mod tests;

//! Whether the language model is there, from what is seen of it.
//!
//! A background task asks the endpoint for its list of models; chats say the rest. Neither is a perfect witness: some endpoints list
//! their models to everybody and refuse chats without a key, others have no list, or hide it from keys that may chat.

use std::fmt;

use parking_lot::RwLock;

/// What came of asking: what happened in our words, and what the endpoint said about it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Heard {
    /// What happened: its status, or why there was no answer.
    pub what: String,
    /// Its words, or nothing.
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

/// Something that was seen of the endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sign {
    /// It listed its models.
    Listed,
    /// It has no list, or one that says nothing.
    NoList,
    /// It refused to list them: 401 or 403.
    ListRefused(Heard),
    /// It did not answer, or with an error of its own.
    Silent(Heard),
    /// It answered a chat.
    ChatAnswered,
    /// It refused a chat for its key: 401.
    ChatUnauthorized(Heard),
    /// It refused a chat, which may be because of the key or of that chat: 403.
    ChatForbidden(Heard),
    /// It did not answer a chat, or with an error of its own. That happens to one chat or another.
    ChatFailed,
}

/// Why the language model is taken to be down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// It does not answer.
    Silent,
    /// It refuses to list its models.
    ListRefused,
    /// It refused a chat with 401.
    ChatUnauthorized,
    /// It refused a chat with 403.
    ChatForbidden,
}

impl Cause {
    /// Its name in the log.
    pub fn label(self) -> &'static str {
        match self {
            Self::Silent => "silent",
            Self::ListRefused => "list_refused",
            Self::ChatUnauthorized => "chat_unauthorized",
            Self::ChatForbidden => "chat_forbidden",
        }
    }
}

/// What is known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum State {
    /// Nothing.
    #[default]
    Unknown,
    /// It answers.
    Up,
    /// It does not.
    Down {
        /// Why.
        cause: Cause,
        /// What it said, or what happened.
        heard: Heard,
    },
}

/// What the signs come down to.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Diagnosis {
    state: State,
    /// Whether the list of models says something about chats. It does not where chats are answered while the list is not.
    trusts_list: bool,
}

impl Diagnosis {
    /// The next one. Whether the list is there decides, but for a chat that is answered, or refused for its key.
    fn after(&self, sign: Sign) -> Self {
        let down = |cause, heard| State::Down { cause, heard };
        let cause = match &self.state {
            State::Down { cause, .. } => Some(*cause),
            State::Unknown | State::Up => None,
        };
        let same = || self.state.clone();
        let (state, trusts_list) = match (sign, cause) {
            // A list that everybody may read does not make the key a good one.
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

/// A change that is worth a line in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// It is down now, or for another reason than before.
    WentDown(Cause),
    /// It was down, and answers again.
    CameBack,
}

/// What is known of the language model's endpoint.
pub struct Health(RwLock<Diagnosis>);

impl Default for Health {
    fn default() -> Self {
        Self(RwLock::new(Diagnosis { state: State::Unknown, trusts_list: true }))
    }
}

impl Health {
    /// What is known now.
    pub fn state(&self) -> State {
        self.0.read().state.clone()
    }

    /// Takes something that was seen into account.
    pub fn sees(&self, sign: Sign) -> Option<Change> {
        // Every chat says this, and it is no news.
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

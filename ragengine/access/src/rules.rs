//! The rules for indexes: who may read, and who may write.

mod access;
mod file;
mod rule;
#[cfg(test)]
mod tests;

use serde::Deserialize;

pub use self::access::{Access, AccessError, Action};
pub use self::file::AccessRules;
pub use self::rule::Rule;
use self::rule::RuleSet;
use crate::{Identity, PrincipalError};

/// The rules in one list at most.
const MAX_RULES: usize = 1_000;

/// The rules of an index, as texts.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RuleTexts {
    /// Who may ask, retrieve, list and vote.
    pub read: Vec<String>,
    /// Who may also change documents, settings and sources, and purge.
    pub write: Vec<String>,
}

/// The rules of an index.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rules {
    read: RuleSet,
    write: RuleSet,
}

/// Rules cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// A text is not a rule. It is named by its place.
    #[error(
        "{action}[{position}] is not a rule ({reason}): write a principal such as user:ann, a group such as \
         group:staff, serviceAccount:NAMESPACE/*, or * for every known caller"
    )]
    NoRule {
        /// The list.
        action: Action,
        /// The place in the list, from 0.
        position: usize,
        /// What is wrong with it.
        reason: PrincipalError,
    },
    /// There are too many.
    #[error("{action} has more than {MAX_RULES} rules: use a group")]
    TooMany {
        /// The list.
        action: Action,
    },
}

impl Rules {
    /// Reads rules.
    ///
    /// # Errors
    ///
    /// [`RuleError`].
    pub fn parse(texts: &RuleTexts) -> Result<Self, RuleError> {
        let parsed = |action, rules: &[String]| -> Result<RuleSet, RuleError> {
            if rules.len() > MAX_RULES {
                return Err(RuleError::TooMany { action });
            }
            let of = |(position, text): (usize, &String)| {
                text.parse::<Rule>().map_err(|reason| RuleError::NoRule { action, position, reason })
            };
            rules.iter().enumerate().map(of).collect()
        };
        Ok(Self { read: parsed(Action::Read, &texts.read)?, write: parsed(Action::Write, &texts.write)? })
    }

    /// Whether the rules let a caller do this. Who may write may read.
    pub fn permit(&self, identity: &Identity, action: Action) -> bool {
        match action {
            Action::Read => self.read.includes(identity) || self.write.includes(identity),
            Action::Write => self.write.includes(identity),
        }
    }
}

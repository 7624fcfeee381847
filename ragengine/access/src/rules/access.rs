use std::collections::HashMap;
use std::fmt;

use serde::Deserialize;

use super::{RuleError, RuleTexts, Rules};
use crate::{Identity, Principal, PrincipalError, Standing};

/// The indexes with rules at most.
const MAX_INDEXES: usize = 10_000;

/// The longest name of an index, in bytes.
const MAX_INDEX_BYTES: usize = 256;

/// What a caller wants to do with an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    /// Asking, retrieving, listing and voting.
    Read,
    /// All of these, changing documents, settings and sources, and purging.
    Write,
}

impl fmt::Display for Action {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Read => "read",
            Self::Write => "write",
        })
    }
}

/// The rules of all indexes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Access {
    /// The rules of all names that are not in `indexes`, also of indexes that do not exist.
    pub default: Rules,
    /// The rules of indexes, by name.
    pub indexes: HashMap<String, Rules>,
    /// The operator of the cluster.
    pub operator: Option<Principal>,
}

/// Rules of indexes cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AccessError {
    /// The text is not YAML, or has unknown fields. The message has the line and column.
    #[error("{0}")]
    Syntax(String),
    /// The operator's name is not a principal.
    #[error("operator: {0}")]
    Operator(PrincipalError),
    /// The rules of an index.
    #[error("indexes.{index}: {reason}")]
    Rules {
        /// The index.
        index: String,
        /// What is wrong with them.
        reason: RuleError,
    },
    /// A text is not the name of an index.
    #[error("indexes: a name has 1 to {MAX_INDEX_BYTES} bytes, without control characters")]
    Name,
    /// There are too many indexes.
    #[error("indexes: there are more than {MAX_INDEXES}")]
    TooMany,
}

/// The content of `access.yaml`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Content {
    operator: Option<String>,
    indexes: HashMap<String, RuleTexts>,
}

impl Access {
    /// The rules of the settings.
    ///
    /// # Errors
    ///
    /// [`AccessError`].
    pub fn of_texts<'a>(
        default: Rules,
        indexes: impl ExactSizeIterator<Item = (&'a String, &'a RuleTexts)>,
    ) -> Result<Self, AccessError> {
        if indexes.len() > MAX_INDEXES {
            return Err(AccessError::TooMany);
        }
        let parsed = indexes.map(|(index, texts)| {
            let is_name = (1..=MAX_INDEX_BYTES).contains(&index.len()) && !index.contains(char::is_control);
            if !is_name {
                return Err(AccessError::Name);
            }
            let rules = Rules::parse(texts);
            let rules = rules.map_err(|reason| AccessError::Rules { index: index.clone(), reason })?;
            Ok((index.clone(), rules))
        });
        Ok(Self { default, indexes: parsed.collect::<Result<_, _>>()?, operator: None })
    }

    /// Reads `access.yaml`. An empty text has no rules.
    ///
    /// # Errors
    ///
    /// [`AccessError`].
    pub fn from_yaml(yaml: &str, default: Rules) -> Result<Self, AccessError> {
        // YAML reads a text of comments as null.
        let content: Option<Content> =
            serde_saphyr::from_str(yaml).map_err(|error| AccessError::Syntax(error.without_snippet().to_string()))?;
        let content = content.unwrap_or_default();
        let operator = content.operator.as_deref().map(str::parse).transpose().map_err(AccessError::Operator)?;
        Ok(Self { operator, ..Self::of_texts(default, content.indexes.iter())? })
    }

    /// Whether a caller may do this with the index of this name, whether there is one or not.
    pub fn may(&self, identity: &Identity, action: Action, index: &str) -> bool {
        match identity.standing {
            Standing::Operator => action == Action::Read,
            Standing::Caller => self.indexes.get(index).unwrap_or(&self.default).permit(identity, action),
        }
    }

    /// Those of the names whose indexes a caller may read, in their order.
    pub fn readable<'a>(&self, identity: &Identity, names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
        // Most indexes have the default rules.
        let by_default = identity.standing == Standing::Operator || self.default.permit(identity, Action::Read);
        let may_read = |name: &&str| match self.indexes.get(*name) {
            Some(_) => self.may(identity, Action::Read, name),
            None => by_default,
        };
        names.into_iter().filter(may_read).collect()
    }
}

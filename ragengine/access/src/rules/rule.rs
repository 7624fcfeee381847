use std::collections::HashSet;
use std::str::FromStr;

use crate::principal::is_namespace;
use crate::{Identity, Principal, PrincipalError};

/// Whom a rule lets in.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Rule {
    /// A caller, or the callers of a group.
    Principal(Principal),
    /// All service accounts of a namespace: `serviceAccount:NAMESPACE/*`.
    Namespace(String),
    /// Every known caller: `*`.
    Everyone,
}

impl FromStr for Rule {
    type Err = PrincipalError;

    fn from_str(text: &str) -> Result<Self, PrincipalError> {
        let namespace = text.strip_prefix("serviceAccount:").and_then(|rest| rest.strip_suffix("/*"));
        match (text, namespace) {
            ("*", _) => Ok(Self::Everyone),
            (_, Some(namespace)) if is_namespace(namespace) => Ok(Self::Namespace(namespace.to_owned())),
            _ => text.parse().map(Self::Principal),
        }
    }
}

/// Several rules, each of which lets in.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct RuleSet {
    everyone: bool,
    principals: HashSet<Principal>,
    namespaces: HashSet<String>,
}

impl RuleSet {
    /// Whether a rule lets this caller in.
    pub fn includes(&self, identity: &Identity) -> bool {
        let is_in_namespace = || {
            let namespace = identity.principal.namespace();
            namespace.is_some_and(|namespace| self.namespaces.contains(namespace))
        };
        let has_principal = || identity.principals().any(|principal| self.principals.contains(principal));
        self.everyone || (!self.namespaces.is_empty() && is_in_namespace()) || has_principal()
    }
}

impl FromIterator<Rule> for RuleSet {
    fn from_iter<I: IntoIterator<Item = Rule>>(rules: I) -> Self {
        let mut set = Self::default();
        for rule in rules {
            match rule {
                Rule::Everyone => set.everyone = true,
                Rule::Namespace(namespace) => drop(set.namespaces.insert(namespace)),
                Rule::Principal(principal) => drop(set.principals.insert(principal)),
            }
        }
        set
    }
}

use crate::Principal;

/// The groups of a caller at most. Further ones are left out, which can only take rights.
const MAX_GROUPS: usize = 256;

/// The longest ID of a model, in bytes.
const MAX_MODEL_ID_BYTES: usize = 256;

/// What a known caller is to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Standing {
    /// One of the callers for whom there are rules.
    Caller,
    /// The cluster's operator, with a token for this purpose. It may read everything.
    Operator,
}

/// Who a caller is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The caller's name: the owner of what the caller leaves behind.
    pub principal: Principal,
    /// The caller's groups.
    pub groups: Vec<Principal>,
    /// The model of the caller's session, if it names one.
    pub model_id: Option<String>,
    /// What the caller is to the server.
    pub standing: Standing,
}

impl Identity {
    /// A caller without groups.
    pub fn of(principal: Principal) -> Self {
        Self { principal, groups: Vec::new(), model_id: None, standing: Standing::Caller }
    }

    /// A caller with the groups of these names. Names that no group can have are left out, and those after the first
    /// 256.
    pub(crate) fn with_groups<N: AsRef<str>>(principal: Principal, names: &[N]) -> Self {
        let groups = names.iter().filter_map(|name| Principal::group(name.as_ref()).ok()).take(MAX_GROUPS).collect();
        Self { groups, ..Self::of(principal) }
    }

    /// The caller's name, and then its groups.
    pub fn principals(&self) -> impl Iterator<Item = &Principal> {
        std::iter::once(&self.principal).chain(&self.groups)
    }
}

/// Whether a text can be the ID of a model.
pub(crate) fn is_model_id(text: &str) -> bool {
    !text.is_empty() && text.len() <= MAX_MODEL_ID_BYTES && !text.contains(crate::principal::changes_a_line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_bounded_and_those_with_impossible_names_are_left_out() {
        let ann = || Principal::user("ann").unwrap();
        let identity = Identity::with_groups(ann(), &["staff", "", "a\nb", "ops"]);
        let names: Vec<_> = identity.principals().map(Principal::as_str).collect();
        assert_eq!(names, ["user:ann", "group:staff", "group:ops"]);
        let many: Vec<String> = (0..1_000).map(|number| format!("g{number}")).collect();
        assert_eq!(Identity::with_groups(ann(), &many).groups.len(), 256);
    }

    #[test]
    fn the_id_of_a_model_is_bounded_and_on_one_line() {
        for (text, expected) in [("gpt-4o", true), ("org/model:free", true), ("", false), ("a\nb", false)] {
            assert_eq!(is_model_id(text), expected, "{text}");
        }
        assert!(!is_model_id(&"m".repeat(257)));
    }
}

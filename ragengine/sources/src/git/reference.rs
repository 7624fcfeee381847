use gix_hash::ObjectId;
use gix_protocol::handshake::Ref;

/// Selects a commit of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reference {
    /// The default branch.
    Head,
    /// A commit, by its full id.
    Commit(ObjectId),
    /// The possible full names of a branch or a tag. The first one that exists is used.
    Named(Vec<String>),
}

impl Reference {
    /// Parses `ref` of a source. `None` stands for `HEAD`.
    pub fn new(text: Option<&str>) -> Self {
        let text = match text {
            None | Some("" | "HEAD") => return Self::Head,
            Some(text) => text,
        };
        match ObjectId::from_hex(text.as_bytes()) {
            Ok(commit) => Self::Commit(commit),
            Err(_) if text.starts_with("refs/") => Self::Named(vec![text.to_owned()]),
            Err(_) => Self::Named(vec![format!("refs/heads/{text}"), format!("refs/tags/{text}")]),
        }
    }

    /// The full names to look up on the server.
    pub fn names(&self) -> Vec<String> {
        match self {
            Self::Head => vec!["HEAD".to_owned()],
            Self::Commit(_) => Vec::new(),
            Self::Named(names) => names.clone(),
        }
    }

    /// The selected commit, if the server has it. A commit id is not looked up.
    pub fn choose(&self, references: &[Ref]) -> Option<ObjectId> {
        if let Self::Commit(commit) = self {
            return Some(*commit);
        }
        self.names().iter().find_map(|name| references.iter().find_map(|reference| commit_of(reference, name)))
    }

    /// A description for error messages.
    pub fn describe(&self) -> String {
        match self {
            Self::Head => "HEAD (it may be empty)".to_owned(),
            Self::Commit(commit) => format!("commit {commit}"),
            Self::Named(names) => names.join(" or "),
        }
    }
}

fn commit_of(reference: &Ref, name: &str) -> Option<ObjectId> {
    match reference {
        Ref::Peeled { full_ref_name, object, .. }
        | Ref::Direct { full_ref_name, object }
        | Ref::Symbolic { full_ref_name, object, .. } => (full_ref_name == name).then_some(*object),
        Ref::Unborn { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(digit: char) -> ObjectId {
        ObjectId::from_hex(digit.to_string().repeat(40).as_bytes()).unwrap()
    }

    #[test]
    fn a_reference_is_a_branch_a_tag_or_a_commit() {
        let direct = |name: &str, digit| Ref::Direct { full_ref_name: name.into(), object: id(digit) };
        let references = [
            Ref::Symbolic {
                full_ref_name: "HEAD".into(),
                target: "refs/heads/main".into(),
                tag: None,
                object: id('1'),
            },
            direct("refs/heads/main", '1'),
            direct("refs/heads/main2", '2'),
            direct("refs/tags/both", '3'),
            direct("refs/heads/both", '4'),
            Ref::Peeled { full_ref_name: "refs/tags/v1".into(), tag: id('5'), object: id('6') },
            Ref::Unborn { full_ref_name: "refs/heads/none".into(), target: "refs/heads/x".into() },
        ];
        let whole = "a".repeat(40);
        let cases = [
            (None, Some('1')),
            (Some(""), Some('1')),
            (Some("HEAD"), Some('1')),
            (Some("main"), Some('1')),
            (Some("refs/heads/main2"), Some('2')),
            (Some("both"), Some('4')),
            (Some("refs/tags/both"), Some('3')),
            (Some("v1"), Some('6')),
            (Some("mai"), None),
            (Some("none"), None),
            (Some("aaaaaaa"), None),
            (Some(whole.as_str()), Some('a')),
        ];
        for (text, expected) in cases {
            assert_eq!(Reference::new(text).choose(&references), expected.map(id), "{text:?}");
        }
    }
}

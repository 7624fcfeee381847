use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// The longest name in a principal, in bytes.
const MAX_NAME_BYTES: usize = 256;

/// The longest namespace, in bytes: that of Kubernetes.
const MAX_NAMESPACE_BYTES: usize = 63;

/// The name of a caller, or of a group of callers. Two callers with one principal are the same. It can be shown and
/// logged: it has no control characters.
///
/// Its text is `key:NAME`, `user:ID`, `group:G` or `serviceAccount:NAMESPACE/NAME`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Principal(Arc<str>);

/// A text is not a principal. The message does not quote it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PrincipalError {
    /// The text begins with none of the kinds.
    #[error("write key:NAME, user:ID, group:NAME or serviceAccount:NAMESPACE/NAME")]
    Kind,
    /// The name is empty or too long.
    #[error("a name has 1 to {MAX_NAME_BYTES} bytes")]
    Length,
    /// The name has characters that would change how a line of the log looks, or spaces at its ends, or it is `*`.
    #[error("a name has no control characters and no spaces at its ends, and is not *")]
    Characters,
    /// The name of a service account is not one of Kubernetes.
    #[error("a service account is NAMESPACE/NAME, of lower-case letters, digits, '-' and, in the name, '.'")]
    ServiceAccount,
}

impl Principal {
    /// The API key with this name.
    ///
    /// # Errors
    ///
    /// [`PrincipalError`].
    pub fn key(name: &str) -> Result<Self, PrincipalError> {
        Self::named("key", name)
    }

    /// The user with this ID.
    ///
    /// # Errors
    ///
    /// [`PrincipalError`].
    pub fn user(id: &str) -> Result<Self, PrincipalError> {
        Self::named("user", id)
    }

    /// The group with this name.
    ///
    /// # Errors
    ///
    /// [`PrincipalError`].
    pub fn group(name: &str) -> Result<Self, PrincipalError> {
        Self::named("group", name)
    }

    /// A service account of Kubernetes.
    ///
    /// # Errors
    ///
    /// [`PrincipalError`].
    pub fn service_account(namespace: &str, name: &str) -> Result<Self, PrincipalError> {
        let is_word = |text: &str, others: &str| {
            text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || others.contains(c))
        };
        let is_valid = is_namespace(namespace) && !name.is_empty() && is_word(name, "-.");
        if !is_valid || name.len() > MAX_NAME_BYTES {
            return Err(PrincipalError::ServiceAccount);
        }
        Ok(Self(format!("serviceAccount:{namespace}/{name}").into()))
    }

    fn named(kind: &str, name: &str) -> Result<Self, PrincipalError> {
        if name.is_empty() || name.len() > MAX_NAME_BYTES {
            return Err(PrincipalError::Length);
        }
        if name.contains(changes_a_line) || name.trim() != name || name == "*" {
            return Err(PrincipalError::Characters);
        }
        Ok(Self(format!("{kind}:{name}").into()))
    }

    /// The principal's text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The namespace, if this is a service account.
    pub fn namespace(&self) -> Option<&str> {
        let (namespace, _) = self.0.strip_prefix("serviceAccount:")?.split_once('/')?;
        Some(namespace)
    }

    /// Whether this is a group of callers, and not a caller.
    pub fn is_group(&self) -> bool {
        self.0.starts_with("group:")
    }
}

/// Whether a text is the name of a namespace in Kubernetes.
pub(crate) fn is_namespace(text: &str) -> bool {
    let is_valid = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !text.is_empty() && text.len() <= MAX_NAMESPACE_BYTES && text.chars().all(is_valid)
}

/// Whether a character could end a line, or change the order in which the others are shown.
pub(crate) fn changes_a_line(character: char) -> bool {
    let is_invisible = matches!(character, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    character.is_control() || is_invisible
}

impl FromStr for Principal {
    type Err = PrincipalError;

    fn from_str(text: &str) -> Result<Self, PrincipalError> {
        match text.split_once(':') {
            Some(("key", name)) => Self::key(name),
            Some(("user", id)) => Self::user(id),
            Some(("group", name)) => Self::group(name),
            Some(("serviceAccount", name)) => {
                let (namespace, name) = name.split_once('/').ok_or(PrincipalError::ServiceAccount)?;
                Self::service_account(namespace, name)
            }
            _ => Err(PrincipalError::Kind),
        }
    }
}

impl fmt::Display for Principal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl fmt::Debug for Principal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, formatter)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_principal_is_read_from_its_text() {
        for text in [
            "key:ci",
            "key:a.b-c_D",
            "user:ann@example.org",
            "user:Ann Müller",
            "user:a:b/c",
            "user:system:serviceaccount:a:b",
            "group:staff",
            "serviceAccount:web/frontend",
            "serviceAccount:ns-1/a.b-c",
        ] {
            assert_eq!(text.parse::<Principal>().unwrap().as_str(), text);
        }
    }

    #[test]
    fn a_text_with_another_kind_or_a_bad_name_is_refused() {
        use PrincipalError::{Characters, Kind, Length, ServiceAccount};
        let (long, longest) = ("n".repeat(257), "n".repeat(256));
        assert!(Principal::user(&longest).is_ok());
        for (text, expected) in [
            ("", Kind),
            ("ann", Kind),
            ("*", Kind),
            ("User:ann", Kind),
            ("users:ann", Kind),
            ("serviceaccount:a/b", Kind),
            ("user:", Length),
            (&format!("user:{long}"), Length),
            (&format!("group:{long}"), Length),
            ("user:*", Characters),
            ("user:a\nb", Characters),
            ("user:a\0", Characters),
            ("group:\u{1b}[31mred", Characters),
            ("user:a\u{2028}b", Characters),
            ("user:a\u{202e}b", Characters),
            ("user:a\u{85}b", Characters),
            ("user: ann", Characters),
            ("key:ci ", Characters),
            ("serviceAccount:a", ServiceAccount),
            ("serviceAccount:/b", ServiceAccount),
            ("serviceAccount:a/", ServiceAccount),
            ("serviceAccount:a/*", ServiceAccount),
            ("serviceAccount:A/b", ServiceAccount),
            ("serviceAccount:a.b/c", ServiceAccount),
            ("serviceAccount:a/b/c", ServiceAccount),
            (&format!("serviceAccount:{}/b", "a".repeat(64)), ServiceAccount),
            (&format!("serviceAccount:a/{long}"), ServiceAccount),
        ] {
            assert_eq!(text.parse::<Principal>(), Err(expected), "{text:?}");
        }
    }

    #[test]
    fn only_a_service_account_has_a_namespace() {
        assert_eq!(Principal::service_account("web", "a").unwrap().namespace(), Some("web"));
        assert_eq!(Principal::user("serviceAccount:web/a").unwrap().namespace(), None);
        assert!(Principal::group("a").unwrap().is_group() && !Principal::user("group:a").unwrap().is_group());
    }

    proptest! {
        #[test]
        fn any_text_is_refused_or_shown_as_it_is_on_one_line(name in "\\PC{0,8}|[\\x00-\\x20a*/:.]{0,6}|[\u{80}-\u{2fff}]{0,6}") {
            for text in [format!("user:{name}"), format!("serviceAccount:{name}"), name] {
                if let Ok(principal) = text.parse::<Principal>() {
                    prop_assert_eq!(principal.to_string(), &text[..]);
                    prop_assert!(!text.contains(char::is_control));
                }
            }
        }
    }
}

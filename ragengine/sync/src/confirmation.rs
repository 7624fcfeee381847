use sha2::{Digest, Sha256};

/// The number of hexadecimal digits, enough to distinguish the deletions of a source.
const DIGITS: usize = 12;

/// The value that confirms the held back deletion of these documents of a source. It does not depend on the files that
/// are there, because a source that changes all the time could otherwise never be confirmed. After the deletion, the
/// index has another revision, and the value confirms nothing until the source is restored to the same revision.
pub fn confirmation_of_documents(source: &str, revision_before: Option<&str>, mut doc_ids: Vec<&str>) -> String {
    doc_ids.sort_unstable();
    let revision = revision_before.unwrap_or_default();
    // Neither contains a line break: the server refuses control characters.
    confirmation(source, &format!("documents {revision}\n{}", doc_ids.join("\n")))
}

/// The value that confirms the held back deletion of a whole source, in the revision that the index has of it.
pub fn confirmation_of_removal(source: &str, revision: Option<&str>) -> String {
    confirmation(source, &format!("removed {}", revision.unwrap_or_default()))
}

fn confirmation(source: &str, deletion: &str) -> String {
    let hash = hex::encode(Sha256::digest(deletion.as_bytes()));
    format!("{source}@{}", &hash[..DIGITS])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_confirmation_is_for_one_deletion_of_one_source() {
        let confirmed = confirmation_of_documents("site", Some("r1"), vec!["a", "b"]);
        assert!(confirmed.starts_with("site@") && confirmed.len() == "site@".len() + DIGITS, "{confirmed}");
        assert_eq!(confirmed, confirmation_of_documents("site", Some("r1"), vec!["b", "a"]));
        for other in [
            confirmation_of_documents("site", Some("r1"), vec!["a"]),
            confirmation_of_documents("site", Some("r1"), vec!["a", "b", "c"]),
            confirmation_of_documents("site", Some("r2"), vec!["a", "b"]),
            confirmation_of_documents("site", None, vec!["a", "b"]),
            confirmation_of_documents("faq", Some("r1"), vec!["a", "b"]),
            confirmation_of_removal("site", Some("r1")),
            confirmation_of_removal("site", None),
        ] {
            assert_ne!(confirmed, other);
        }
        assert_ne!(confirmation_of_removal("site", Some("r1")), confirmation_of_removal("site", Some("r2")));
    }
}

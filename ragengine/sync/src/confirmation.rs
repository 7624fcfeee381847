use sha2::{Digest, Sha256};

/// Enough of a hash to tell a revision from the others of its source.
const DIGITS: usize = 12;

/// What confirms the deletions that were held back of a source in this revision. Of another revision, or another source, it confirms nothing.
pub fn confirmation(source: &str, revision: &str) -> String {
    let hash = hex::encode(Sha256::digest(revision.as_bytes()));
    format!("{source}@{}", &hash[..DIGITS])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_confirmation_is_for_one_source_in_one_revision() {
        let confirmed = confirmation("site", "r1");
        assert!(confirmed.starts_with("site@") && confirmed.len() == "site@".len() + DIGITS, "{confirmed}");
        assert_eq!(confirmed, confirmation("site", "r1"));
        assert_ne!(confirmed, confirmation("site", "r2"));
        assert_ne!(confirmed, confirmation("faq", "r1"));
    }
}

use sha2::{Digest, Sha256};

/// The number of hexadecimal digits, enough to distinguish the revisions of a source.
const DIGITS: usize = 12;

/// The value that confirms the held back deletions of a source. It is valid for this revision only.
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

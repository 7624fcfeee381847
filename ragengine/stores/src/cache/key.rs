use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use super::question::normalised;
use crate::StoreError;

/// Names the way in which keys are made. Another way must have another name, so that its keys are others.
const FORM: &str = "ragengine response cache 1";

/// What an answer depends on. Two questions with the same parts have the same answer.
#[derive(Debug, Clone, Copy)]
pub struct KeyParts<'a> {
    /// The standalone question, as it was asked. The key has its [normalised](super::normalised) form.
    pub question: &'a str,
    /// The index.
    pub index_name: &'a str,
    /// The id of the index's store: a new one after a load, a restore or a rebuild.
    pub store_id: &'a str,
    /// The index's change counter.
    pub changes: u64,
    /// The model that answers.
    pub model: &'a str,
    /// The endpoint, such as `query`.
    pub endpoint: &'a str,
    /// The request's options, in a form that is the same for the same options.
    pub options: &'a [u8],
    /// The fingerprint of the settings.
    pub settings: &'a str,
    /// The id of the guardrails' policy, empty without one.
    pub guardrails: &'a str,
}

/// The name of an answer in the cache: its index, and the SHA-256 of its parts. As a text it is `INDEX:HASH`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct CacheKey {
    index_name: Arc<str>,
    hash: [u8; 32],
}

impl CacheKey {
    /// The key of these parts.
    pub fn new(parts: &KeyParts<'_>) -> Self {
        let question = normalised(parts.question);
        let changes = parts.changes.to_le_bytes();
        let mut hasher = Sha256::new();
        // With the length in front of each part, other parts cannot make the same bytes.
        for part in [
            FORM.as_bytes(),
            question.as_bytes(),
            parts.index_name.as_bytes(),
            parts.store_id.as_bytes(),
            &changes,
            parts.model.as_bytes(),
            parts.endpoint.as_bytes(),
            parts.options,
            parts.settings.as_bytes(),
            parts.guardrails.as_bytes(),
        ] {
            hasher.update((part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        Self { index_name: parts.index_name.into(), hash: hasher.finalize().into() }
    }

    /// The index.
    pub fn index_name(&self) -> &str {
        &self.index_name
    }

    /// The hash as 64 hex digits.
    pub(super) fn hex(&self) -> String {
        hex::encode(self.hash)
    }
}

impl fmt::Display for CacheKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.index_name, self.hex())
    }
}

impl fmt::Debug for CacheKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "CacheKey({self})")
    }
}

impl FromStr for CacheKey {
    type Err = StoreError;

    /// Reads the text of a key.
    fn from_str(text: &str) -> Result<Self, StoreError> {
        let invalid = || StoreError::Damaged("the key of a cached answer is not as expected".to_owned());
        let (index_name, hash) = text.rsplit_once(':').ok_or_else(invalid)?;
        let mut key = Self { index_name: index_name.into(), hash: [0; 32] };
        hex::decode_to_slice(hash, &mut key.hash).map_err(|_| invalid())?;
        Ok(key)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    const PARTS: KeyParts<'_> = KeyParts {
        question: "When are reports due?",
        index_name: "docs",
        store_id: "s1",
        changes: 7,
        model: "qwen",
        endpoint: "query",
        options: b"{}",
        settings: "f1",
        guardrails: "",
    };

    #[test]
    fn each_part_is_in_the_key() {
        let others = [
            KeyParts { question: "When are reports ready?", ..PARTS },
            KeyParts { index_name: "other", ..PARTS },
            KeyParts { store_id: "s2", ..PARTS },
            KeyParts { changes: 8, ..PARTS },
            KeyParts { model: "gemma", ..PARTS },
            KeyParts { endpoint: "chat", ..PARTS },
            KeyParts { options: b"{ }", ..PARTS },
            KeyParts { settings: "f2", ..PARTS },
            KeyParts { guardrails: "p1", ..PARTS },
            PARTS,
        ];
        let keys: HashSet<CacheKey> = others.iter().map(CacheKey::new).collect();
        assert_eq!(keys.len(), others.len());
        let same = KeyParts { question: "when are  REPORTS due", ..PARTS };
        assert_eq!(CacheKey::new(&same), CacheKey::new(&PARTS));
    }

    #[test]
    fn keys_stay_the_same() {
        // Calculated by another program. Servers of different versions share answers only under the same keys.
        let expected = "docs:8fdff912a7a7f02a42c1a2f40616523573e23355e3b33b27ce8a2bf34a1c8021";
        assert_eq!(CacheKey::new(&PARTS).to_string(), expected);
    }

    #[test]
    fn a_text_that_is_no_key_is_refused() {
        let hash = "0".repeat(64);
        for text in ["", "docs", "docs:", "docs:abc", &hash, &format!("docs:{}", "g".repeat(64)), &format!("d:{hash}0")]
        {
            assert_eq!(text.parse::<CacheKey>().unwrap_err().kind(), "damaged", "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_key_is_read_from_its_text(index_name in ".{0,20}", changes: u64) {
            let key = CacheKey::new(&KeyParts { index_name: &index_name, changes, ..PARTS });
            prop_assert_eq!(key.to_string().parse::<CacheKey>().unwrap(), key);
        }

        #[test]
        fn a_text_that_moves_to_the_next_part_makes_another_key(text in "[a-c]{0,8}", one: usize, other: usize) {
            let cut = |place: usize| {
                let (model, endpoint) = text.split_at(place % (text.len() + 1));
                (CacheKey::new(&KeyParts { model, endpoint, ..PARTS }), model.len())
            };
            let ((one, one_length), (other, other_length)) = (cut(one), cut(other));
            prop_assert_eq!(one == other, one_length == other_length);
        }
    }
}

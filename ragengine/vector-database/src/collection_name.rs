//! The collections of an index.
//!
//! A class of Weaviate has a name that begins with a capital, has letters, digits and underscores, and must differ from
//! others not only in case, because it names a folder in lower case. So the name of the index is in hexadecimal digits,
//! which keeps every two names apart and can be read back. Qdrant takes such names, too. Engines that share a database
//! are kept apart by a hash of their namespace.

use sha2::{Digest as _, Sha256};

use crate::VectorDatabaseError;

/// The longest name of an index, in bytes. The names of folders, which are longer than those of collections, have at
/// most 255 bytes.
const MAX_NAME_BYTES: usize = 80;

/// The digits of a namespace.
const NAMESPACE_BYTES: usize = 8;

/// The beginnings of the names.
const DOCUMENTS: &str = "RagDocuments";
const TEXTS: &str = "RagTexts";
const CHUNKS: &str = "RagChunks";

/// The name of a collection.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct CollectionName(String);

impl CollectionName {
    /// The name as a text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The collections of one index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collections {
    /// What is known of each document, without its text.
    pub documents: CollectionName,
    /// The texts of documents.
    pub texts: CollectionName,
    /// The chunks and their vectors.
    pub chunks: CollectionName,
}

impl Collections {
    /// The collections of an index in a namespace.
    ///
    /// # Errors
    ///
    /// [`VectorDatabaseError::LongName`].
    pub fn of(namespace: &str, index: &str) -> Result<Self, VectorDatabaseError> {
        if index.len() > MAX_NAME_BYTES {
            return Err(VectorDatabaseError::LongName(index.chars().take(MAX_NAME_BYTES).collect()));
        }
        let (namespace, index) = (namespace_digits(namespace), hex::encode(index));
        let name = |begin: &str| CollectionName(format!("{begin}_{namespace}_{index}"));
        Ok(Self { documents: name(DOCUMENTS), texts: name(TEXTS), chunks: name(CHUNKS) })
    }
}

/// The name of the index with this collection of chunks. None for one of another kind or namespace.
pub fn index_of_collection(namespace: &str, collection: &str) -> Option<String> {
    let digits = collection.strip_prefix(CHUNKS)?.strip_prefix('_')?.strip_prefix(&namespace_digits(namespace))?;
    String::from_utf8(hex::decode(digits.strip_prefix('_')?).ok()?).ok()
}

fn namespace_digits(namespace: &str) -> String {
    hex::encode(&Sha256::digest(namespace)[..NAMESPACE_BYTES])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn long_names_are_refused() {
        assert!(Collections::of("n", &"x".repeat(MAX_NAME_BYTES)).is_ok());
        assert_eq!(Collections::of("n", &"x".repeat(MAX_NAME_BYTES + 1)).unwrap_err().kind(), "long_name");
    }

    proptest! {
        #[test]
        fn names_are_valid_and_never_collide(
            one in ("[a-b.]{0,2}", "[a-zA-Z0-9._ü-]{0,9}"), other in ("[a-b.]{0,2}", "[a-zA-Z0-9._ü-]{0,9}"),
        ) {
            let [left, right] = [&one, &other].map(|(namespace, index)| Collections::of(namespace, index).unwrap());
            let pairs = [
                (&left.documents, &right.documents), (&left.texts, &right.texts), (&left.chunks, &right.chunks),
            ];
            for (of_one, of_other) in pairs {
                let is_same = of_one.as_str().eq_ignore_ascii_case(of_other.as_str());
                prop_assert_eq!(is_same, one == other);
                prop_assert!(of_one.as_str().bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'));
                prop_assert!(of_one.as_str().starts_with("Rag") && of_one.as_str().len() < 220);
            }
            prop_assert_eq!(index_of_collection(&one.0, left.chunks.as_str()), Some(one.1.clone()));
            prop_assert_eq!(index_of_collection(&one.0, left.texts.as_str()), None);
            if one.0 != other.0 {
                prop_assert_eq!(index_of_collection(&other.0, left.chunks.as_str()), None);
            }
        }
    }
}

//! The manifest of a snapshot: its format, store, kind and rows.

use roaring::RoaringTreemap;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use uuid::Uuid;

const MAGIC: &[u8; 8] = b"ragsnap\n";
const FORMAT: u32 = 1;
const DIGEST_BYTES: usize = 32;

/// The bytes are not a manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ManifestError {
    /// They are damaged or were written by another program.
    Damaged(&'static str),
    /// A newer version wrote them.
    Newer(u32),
}

/// The description of a snapshot. It is not checked against an index yet.
#[derive(Debug, Clone, PartialEq)]
pub struct Manifest {
    /// The id of the store of its rows.
    pub store: Uuid,
    /// The kind of its vectors, as FAISS spells it.
    pub kind: String,
    /// The number of values in a vector.
    pub dimensions: u64,
    /// The rows of its vectors.
    pub rows: RoaringTreemap,
}

/// The encoded fields, between the format and the digest. Postcard encodes them in order, so a change is a new format.
#[derive(Serialize, Deserialize)]
struct Fields<'a> {
    store: [u8; 16],
    kind: &'a str,
    dimensions: u64,
    rows: &'a [u8],
}

impl Manifest {
    /// Encodes it: a magic number, the format, the fields, and a digest of everything before it.
    pub fn encode(&self) -> Vec<u8> {
        let mut rows = Vec::with_capacity(self.rows.serialized_size());
        let written = self.rows.serialize_into(&mut rows);
        debug_assert!(written.is_ok(), "writing to a Vec cannot fail");
        let fields =
            Fields { store: self.store.into_bytes(), kind: &self.kind, dimensions: self.dimensions, rows: &rows };
        let fields = postcard::to_stdvec(&fields).unwrap_or_default();
        let mut bytes = [MAGIC.as_slice(), &FORMAT.to_le_bytes(), &fields].concat();
        let digest = Sha256::digest(&bytes);
        bytes.extend_from_slice(&digest);
        bytes
    }

    /// Decodes untrusted bytes.
    ///
    /// # Errors
    ///
    /// [`ManifestError`]. Lengths in the bytes are not trusted.
    pub fn decode(bytes: &[u8]) -> Result<Self, ManifestError> {
        let (head, digest) = bytes.split_at_checked(bytes.len().wrapping_sub(DIGEST_BYTES)).ok_or(TOO_SHORT)?;
        let (magic, rest) = head.split_first_chunk().ok_or(TOO_SHORT)?;
        let (format, fields) = rest.split_first_chunk().ok_or(TOO_SHORT)?;
        if magic != MAGIC {
            return Err(ManifestError::Damaged("its manifest was written by another program"));
        }
        if *digest != *Sha256::digest(head) {
            return Err(ManifestError::Damaged("the checksum of its manifest is wrong"));
        }
        match u32::from_le_bytes(*format) {
            FORMAT => Self::decode_fields(fields).ok_or(ManifestError::Damaged("its manifest cannot be decoded")),
            format => Err(ManifestError::Newer(format)),
        }
    }

    /// Decodes the part between the format and the digest.
    pub fn decode_fields(bytes: &[u8]) -> Option<Self> {
        let fields: Fields<'_> = postcard::from_bytes(bytes).ok()?;
        let rows = RoaringTreemap::deserialize_from(fields.rows).ok()?;
        let (store, kind, dimensions) = (Uuid::from_bytes(fields.store), fields.kind.to_owned(), fields.dimensions);
        Some(Self { store, kind, dimensions, rows })
    }
}

const TOO_SHORT: ManifestError = ManifestError::Damaged("its manifest is cut short");

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn manifest(rows: &[u64]) -> Manifest {
        let rows = rows.iter().copied().collect();
        Manifest { store: Uuid::from_u128(7), kind: "HNSW16".into(), dimensions: 384, rows }
    }

    proptest! {
        #[test]
        fn a_manifest_survives_encoding(rows in prop::collection::vec(any::<u64>(), 0..50)) {
            prop_assert_eq!(Manifest::decode(&manifest(&rows).encode()).unwrap(), manifest(&rows));
        }

        #[test]
        fn a_changed_or_cut_manifest_is_refused(place in 0_usize..1000, bit in 0_u8..8, cut in 0_usize..1000) {
            let bytes = manifest(&[1, 2, 3, 70_000]).encode();
            let mut changed = bytes.clone();
            changed[place % bytes.len()] ^= 1 << bit;
            prop_assert!(Manifest::decode(&changed).is_err());
            prop_assert!(Manifest::decode(&bytes[..cut % bytes.len()]).is_err());
        }

        #[test]
        fn any_bytes_are_decoded_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(Manifest::decode(&bytes).is_err());
            drop(Manifest::decode_fields(&bytes));
        }
    }

    #[test]
    fn a_newer_format_is_not_reported_as_damage() {
        let mut bytes = manifest(&[1]).encode();
        bytes.truncate(bytes.len() - DIGEST_BYTES);
        bytes[MAGIC.len()] = 2;
        let digest = Sha256::digest(&bytes);
        bytes.extend_from_slice(&digest);
        assert_eq!(Manifest::decode(&bytes), Err(ManifestError::Newer(2)));
    }
}

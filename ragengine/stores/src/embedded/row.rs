//! Rows as bytes: their version, then postcard. A changed row gets a new version, and the old one is still read.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::StoreError;

/// The version of all rows so far.
const VERSION: u8 = 1;

/// The bytes of a row.
///
/// # Errors
///
/// If the row cannot be encoded, which its type rules out.
pub(crate) fn encode<R: Serialize>(row: &R) -> Result<Vec<u8>, StoreError> {
    Ok(postcard::to_extend(row, vec![VERSION])?)
}

/// The row of these bytes.
///
/// # Errors
///
/// [`StoreError::NewerSchema`] or [`StoreError::Damaged`].
pub(crate) fn decode<R: DeserializeOwned>(bytes: &[u8]) -> Result<R, StoreError> {
    match bytes {
        [VERSION, rest @ ..] => Ok(postcard::from_bytes(rest)?),
        [0, ..] | [] => Err(StoreError::Damaged("a row has no version".to_owned())),
        [_, ..] => Err(StoreError::NewerSchema("a row of state.redb".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_a_version() {
        let row = ("a".to_owned(), vec![1_u32, 2]);
        let bytes = encode(&row).unwrap();
        assert_eq!(bytes[0], VERSION);
        assert_eq!(decode::<(String, Vec<u32>)>(&bytes), Ok(row));
        for (bytes, kind) in
            [(&[][..], "damaged"), (&[0, 1], "damaged"), (&[1, 0xff], "damaged"), (&[2], "newer_schema")]
        {
            assert_eq!(decode::<(String, Vec<u32>)>(bytes).unwrap_err().kind(), kind, "{bytes:?}");
        }
    }
}

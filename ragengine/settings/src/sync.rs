//! What one synchronisation is to do: the contract between whoever asks for it (a person, or the operator, which renders it into the Job of an
//! Index) and `ragengine sync`, which does it.

mod source;

use std::net::IpAddr;

use serde::{Deserialize, Serialize};
pub use source::{Folder, Git, Http, Inline, InlineDocument, Origin, S3, Source};

use crate::{SecretReference, VectorIndexKind};

/// One synchronisation: makes an index hold exactly what its sources hold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SyncTask {
    /// The server's address, for example `http://docs.default.svc`.
    pub server: String,
    /// Its write token, where it wants one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_token: Option<SecretReference>,
    /// The index that is filled.
    pub index: String,
    /// Whose sources these are: the server knows each as `{owner}.{name}`. Sources of this owner that are not named any more are deleted, when all others were read without an error.
    pub owner: String,
    /// The name of this synchronisation, which the server's record of each source carries.
    pub sync_id: String,
    /// How the index is made.
    #[serde(default, skip_serializing_if = "IndexOptions::is_default")]
    pub settings: IndexOptions,
    /// The deletions that were held back and are meant, as the record of each source says: each is for one source in one revision.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub confirmations: Vec<String>,
    /// Addresses that sources may use although they are link-local, loopback or the API server's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed_ranges: Vec<AddressRange>,
    /// Where the documents come from. None at all: everything of this owner is deleted.
    pub sources: Vec<Source>,
}

/// How an index is made. What is not said is the server's default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct IndexOptions {
    /// The longest chunk in tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// How many tokens of a chunk are repeated in the next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlap_tokens: Option<u32>,
    /// How vectors are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vector_index: Option<VectorIndexKind>,
}

impl IndexOptions {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Addresses that share a prefix, written as `10.0.0.0/8`. An address alone is a range of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct AddressRange {
    address: IpAddr,
    prefix: u8,
}

/// A range that is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is no range of addresses: it must look like 10.0.0.0/8 or fd00::/8")]
pub struct ParseAddressRangeError(String);

impl AddressRange {
    /// Whether an address is of it.
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address) {
            (IpAddr::V4(range), IpAddr::V4(address)) => {
                let shift = 32 - u32::from(self.prefix);
                (range.to_bits() ^ address.to_bits()).checked_shr(shift).unwrap_or(0) == 0
            }
            (IpAddr::V6(range), IpAddr::V6(address)) => {
                let shift = 128 - u32::from(self.prefix);
                (range.to_bits() ^ address.to_bits()).checked_shr(shift).unwrap_or(0) == 0
            }
            _ => false,
        }
    }
}

impl AddressRange {
    /// Whether every address of another range is of this one.
    pub fn covers(&self, other: &Self) -> bool {
        self.prefix <= other.prefix && self.contains(other.address)
    }
}

impl std::str::FromStr for AddressRange {
    type Err = ParseAddressRangeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let refused = || ParseAddressRangeError(text.to_owned());
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| refused())?;
        let widest = if address.is_ipv4() { 32 } else { 128 };
        let prefix = match prefix {
            Some(prefix) => prefix.parse().ok().filter(|prefix| *prefix <= widest).ok_or_else(refused)?,
            None => widest,
        };
        Ok(Self { address, prefix })
    }
}

impl std::fmt::Display for AddressRange {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}/{}", self.address, self.prefix)
    }
}

impl TryFrom<String> for AddressRange {
    type Error = ParseAddressRangeError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<AddressRange> for String {
    fn from(range: AddressRange) -> Self {
        range.to_string()
    }
}

#[cfg(test)]
mod tests;

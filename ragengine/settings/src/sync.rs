//! The task of one synchronisation, read by `ragengine sync`. A person writes it, or the operator renders it into the
//! Job of an Index.

mod source;

use std::collections::HashSet;
use std::net::IpAddr;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
pub use source::{Folder, Git, Http, Inline, InlineDocument, Origin, S3, Source};

use crate::{SecretReference, VectorIndexKind};

/// One synchronisation. Afterwards the index holds exactly the documents of its sources.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SyncTask {
    /// The server's address, for example `http://docs.default.svc` or `https://docs.default.svc`.
    pub server: String,
    /// Files with certificates in PEM format that are trusted for the server, besides those that the system trusts:
    /// authorities, or the server's own certificate. Only the first file that exists and is not empty is used, such as the
    /// `ca.crt` of a Secret, else its `tls.crt`. It is read at the start.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub server_ca_files: Vec<PathBuf>,
    /// The server's write token, if it requires one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_token: Option<SecretReference>,
    /// The index to fill.
    pub index: String,
    /// The owner of the sources, without `/` and `#`. The server stores each source as `{owner}.{name}`. Sources of this
    /// owner that are missing from `sources` are deleted once all others were read without an error.
    pub owner: String,
    /// The id of this synchronisation, stored in the server's record of each source.
    pub sync_id: String,
    /// Settings of the index.
    #[serde(default, skip_serializing_if = "IndexOptions::is_default")]
    pub settings: IndexOptions,
    /// Confirmations of deletions that were held back, copied from the record of each source. Each is valid for one
    /// deletion of one source.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub confirmations: Vec<String>,
    /// Addresses that sources may use although they are link-local, loopback or the Kubernetes API server's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed_ranges: Vec<AddressRange>,
    /// The sources of the documents. An empty list deletes everything of this owner.
    pub sources: Vec<Source>,
}

/// A name in a task cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TaskNameError(String);

impl SyncTask {
    /// Checks the names of the owner and of the sources: `{owner}.{name}` must not be that of another source.
    ///
    /// # Errors
    ///
    /// [`TaskNameError`] with the first name that cannot be used.
    pub fn check_names(&self) -> Result<(), TaskNameError> {
        check_name("owner", &self.owner, &['.', '_', '-'])?;
        let mut names = HashSet::new();
        for source in &self.sources {
            check_name("name of a source", &source.name, &['_', '-'])?;
            if !names.insert(source.name.as_str()) {
                return Err(TaskNameError(format!("two sources have the name '{}': rename one of them", source.name)));
            }
        }
        Ok(())
    }
}

/// The letters that the server takes in the name of a source, which is OWNER.NAME there.
fn check_name(what: &str, name: &str, marks: &[char]) -> Result<(), TaskNameError> {
    if name.is_empty() {
        return Err(TaskNameError(format!("the {what} is empty: give one")));
    }
    let is_allowed = |letter: char| letter.is_ascii_alphanumeric() || marks.contains(&letter);
    if let Some(letter) = name.chars().find(|letter| !is_allowed(*letter)) {
        return Err(TaskNameError(format!("the {what} '{}' contains {letter:?}: rename it", name.escape_debug())));
    }
    if name.starts_with(marks) || name.ends_with(marks) {
        let message = format!("the {what} '{name}' does not begin and end with a letter or a digit: rename it");
        return Err(TaskNameError(message));
    }
    Ok(())
}

/// Settings of an index. A field that is not set uses the server's default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct IndexOptions {
    /// Maximum chunk size in tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// Overlap between consecutive chunks, in tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlap_tokens: Option<u32>,
    /// The type of the vector index.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vector_index: Option<VectorIndexKind>,
}

impl IndexOptions {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// A CIDR range such as `10.0.0.0/8`. An address without a prefix length is a range of one address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct AddressRange {
    address: IpAddr,
    prefix: u8,
}

/// The text is not an address or a CIDR range.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a range of addresses: it must look like 10.0.0.0/8 or fd00::/8")]
pub struct ParseAddressRangeError(String);

impl AddressRange {
    /// Whether the range includes `address`. An IPv4 range includes no IPv6 address.
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
    /// Whether this range includes every address of `other`.
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

use serde::{Deserialize, Serialize};

use crate::Name;

/// The format that this version writes. Newer formats are refused.
pub const FORMAT: u32 = 1;

/// The longest manifest that is read, in bytes.
pub const MAX_MANIFEST_BYTES: u64 = 64 << 10;

/// What a backup consists of. It is stored beside the tar file, and makes it a backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    /// The format of the manifest.
    pub format: u32,
    /// The name of the tar file.
    pub name: String,
    /// The size of the tar file in bytes.
    pub bytes: u64,
    /// The SHA-256 of the tar file, as hexadecimal digits.
    pub sha256: String,
    /// What the backup contains.
    #[serde(flatten)]
    pub contents: Contents,
}

/// What a backup contains, for people who look for the right one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Contents {
    /// Number of indexes.
    pub indexes: u64,
    /// Number of documents in all indexes.
    pub documents: u64,
}

impl Contents {
    /// Whether there is no index. Earlier versions stored such backups, for example of a server that had lost its volume.
    pub fn is_empty(&self) -> bool {
        self.indexes == 0
    }
}

impl Manifest {
    /// Reads the manifest of a backup.
    ///
    /// # Errors
    ///
    /// Why it is not one, as a clause.
    pub fn parse(json: &[u8], name: &Name) -> Result<Self, String> {
        let manifest: Self =
            serde_json::from_slice(json).map_err(|error| format!("its manifest is invalid: {error}"))?;
        if manifest.format > FORMAT {
            return Err(format!("a newer version wrote it (format {}, this one reads {FORMAT})", manifest.format));
        }
        if manifest.name != name.as_str() {
            return Err(format!("its manifest is that of {:?}", manifest.name.chars().take(80).collect::<String>()));
        }
        Ok(manifest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_must_be_that_of_its_backup() {
        let name = Name::at("2026-01-01T00:00:00Z".parse().unwrap(), "a");
        let manifest = Manifest {
            format: FORMAT,
            name: name.to_string(),
            bytes: 7,
            sha256: "00".repeat(32),
            contents: Contents { indexes: 1, documents: 2 },
        };
        let read = |manifest: &Manifest| Manifest::parse(&serde_json::to_vec(manifest).unwrap(), &name);
        assert_eq!(read(&manifest).as_ref(), Ok(&manifest));
        let newer = Manifest { format: FORMAT + 1, ..manifest.clone() };
        assert!(read(&newer).unwrap_err().contains("newer version"));
        let other = Manifest { name: "other".to_owned(), ..manifest };
        assert!(read(&other).unwrap_err().contains("other"));
        assert!(Manifest::parse(b"{", &name).unwrap_err().contains("invalid"));
    }
}

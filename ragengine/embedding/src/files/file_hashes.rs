//! The SHA-256 hashes of a model's files. They are stored beside the files when these are downloaded, and compared at
//! each start.
//!
//! Changed files are an error, because vectors of different models cannot be compared and searches would find less.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::{Error, OPTIONAL, TOKENIZER, Weights, read_json};

/// The name of the file with the hashes.
pub(super) const FILE: &str = "ragengine-files.json";

/// The revision and the hashes of downloaded files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileHashes {
    /// The requested branch, tag or commit. None: the files were downloaded by an earlier version, which did not store
    /// hashes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// The SHA-256 of each file, in hexadecimal.
    pub sha256: BTreeMap<String, String>,
}

impl FileHashes {
    /// Writes the hashes into a directory and syncs them to disk.
    pub fn write(&self, directory: &Path) -> Result<(), Error> {
        let path = directory.join(FILE);
        let json = serde_json::to_vec_pretty(self)
            .map_err(|error| Error::Config { path: path.display().to_string(), message: error.to_string() })?;
        let aside = directory.join(format!(".{FILE}"));
        let write = || {
            let mut file = std::fs::File::options().write(true).create(true).truncate(true).mode(0o600).open(&aside)?;
            file.write_all(&json)?;
            file.sync_all()?;
            std::fs::rename(&aside, &path)
        };
        write().map_err(Error::io(&path))
    }
}

/// Compares the files of a directory with their stored hashes, or stores the hashes if there are none. It reads all
/// files: do not call it in an asynchronous task.
///
/// # Errors
///
/// [`Error::Changed`] names the first changed file, [`Error::Io`] an unreadable one.
pub(super) fn compare_or_store(directory: &Path, weights: &Weights) -> Result<(), Error> {
    let found = hashes(directory, weights)?;
    let Some(kept) = read_json::<FileHashes>(&directory.join(FILE))? else {
        if let Err(error) = (FileHashes { revision: None, sha256: found }).write(directory) {
            tracing::warn!(%error, "the hashes of a model's files cannot be stored: changes will not be detected");
        }
        return Ok(());
    };
    match difference(&kept.sha256, &found) {
        None => Ok(()),
        Some((file, what)) => Err(Error::Changed {
            path: directory.join(file).display().to_string(),
            what,
            directory: directory.display().to_string(),
            kept: directory.join(FILE).display().to_string(),
        }),
    }
}

/// The first difference: a file's name and a description.
fn difference<'a>(
    kept: &'a BTreeMap<String, String>,
    found: &'a BTreeMap<String, String>,
) -> Option<(&'a str, &'static str)> {
    let names = kept.keys().chain(found.keys().filter(|name| !kept.contains_key(*name)));
    names.map(String::as_str).find_map(|name| match (kept.get(name), found.get(name)) {
        (Some(kept), Some(found)) if kept == found => None,
        (Some(_), Some(_)) => Some((name, "has changed")),
        (Some(_), None) => Some((name, "has been removed")),
        (None, _) => Some((name, "has been added")),
    })
}

/// The hashes of the model's existing files.
fn hashes(directory: &Path, weights: &Weights) -> Result<BTreeMap<String, String>, Error> {
    let graphs = weights.names();
    let data: Vec<String> = graphs.iter().map(|graph| format!("{graph}_data")).collect();
    let names = graphs.into_iter().chain([TOKENIZER]).chain(OPTIONAL).chain(data.iter().map(String::as_str));
    let mut hashes = BTreeMap::new();
    for name in names {
        let path = directory.join(name);
        match hash(&path) {
            Ok(hash) => drop(hashes.insert(name.to_owned(), hash)),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(Error::io(&path)(error)),
        }
    }
    Ok(hashes)
}

fn hash(path: &Path) -> std::io::Result<String> {
    let mut hasher = Sha256::new();
    let mut file = std::fs::File::open(path)?;
    let mut buffer = vec![0; 1 << 20];
    loop {
        match std::io::Read::read(&mut file, &mut buffer)? {
            0 => return Ok(hex::encode(hasher.finalize())),
            read => hasher.update(&buffer[..read]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_difference_is_reported() {
        let of = |files: &[(&str, &str)]| -> BTreeMap<String, String> {
            files.iter().map(|(name, hash)| ((*name).to_owned(), (*hash).to_owned())).collect()
        };
        let kept = of(&[("a", "1"), ("b", "2")]);
        let table: [(&[(&str, &str)], _); 5] = [
            (&[("a", "1"), ("b", "2")], None),
            (&[("a", "1"), ("b", "3")], Some(("b", "has changed"))),
            (&[("b", "2")], Some(("a", "has been removed"))),
            (&[("a", "1"), ("b", "2"), ("c", "3")], Some(("c", "has been added"))),
            (&[], Some(("a", "has been removed"))),
        ];
        for (found, expected) in table {
            assert_eq!(difference(&kept, &of(found)), expected, "{found:?}");
        }
    }

    #[test]
    fn a_changed_file_is_detected() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(TOKENIZER), "abc").unwrap();
        compare_or_store(folder.path(), &Weights::default()).unwrap();
        let kept: FileHashes = read_json(&folder.path().join(FILE)).unwrap().unwrap();
        // The SHA-256 of "abc" as FIPS 180-2 gives it.
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(kept, FileHashes { revision: None, sha256: [(TOKENIZER.to_owned(), abc.to_owned())].into() });
        compare_or_store(folder.path(), &Weights::default()).unwrap();
        std::fs::write(folder.path().join(TOKENIZER), "abd").unwrap();
        let error = compare_or_store(folder.path(), &Weights::default()).unwrap_err();
        assert!(matches!(&error, Error::Changed { what: "has changed", .. }), "{error}");
    }
}

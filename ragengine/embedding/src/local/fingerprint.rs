//! The fingerprint of a model and its use.

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::Error;
use crate::files::ModelFiles;
use crate::profile::Profile;

/// Number of hexadecimal digits of a file's SHA-256 in the fingerprint: 64 bits distinguish models reliably.
const FINGERPRINT_DIGITS: usize = 16;

/// Describes name, contents and use in one line. Of a directory only the last part is included, so that it can be
/// moved.
pub(super) fn fingerprint(model_id: &str, files: &ModelFiles, profile: &Profile) -> Result<String, Error> {
    let name = if model_id.starts_with(['/', '.']) {
        Path::new(model_id).file_name().unwrap_or_default().to_string_lossy().into_owned()
    } else {
        model_id.to_owned()
    };
    // Large models have their weights in a second file.
    let mut weights = files.model.clone().into_os_string();
    weights.push("_data");
    let weights = PathBuf::from(weights);
    let mut model_files = vec![files.model.as_path()];
    model_files.extend(weights.is_file().then_some(weights.as_path()));
    Ok(format!(
        "{name} model={} tokenizer={} pooling={} max_tokens={} query_prefix={:?} passage_prefix={:?}",
        digest(&model_files)?,
        digest(&[&files.tokenizer])?,
        profile.pooling,
        profile.max_tokens,
        profile.query_prefix,
        profile.passage_prefix,
    ))
}

/// The first digits of the SHA-256 of the files' contents.
fn digest(paths: &[&Path]) -> Result<String, Error> {
    let mut hasher = Sha256::new();
    for path in paths {
        let unreadable =
            |error: std::io::Error| Error::Load { path: path.display().to_string(), message: error.to_string() };
        let mut file = std::fs::File::open(path).map_err(unreadable)?;
        std::io::copy(&mut file, &mut HashWriter(&mut hasher)).map_err(unreadable)?;
    }
    let mut digits = hex::encode(hasher.finalize());
    digits.truncate(FINGERPRINT_DIGITS);
    Ok(digits)
}

struct HashWriter<'a>(&'a mut Sha256);

impl std::io::Write for HashWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

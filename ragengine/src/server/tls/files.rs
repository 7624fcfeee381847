use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use ragengine_settings::Tls as TlsSettings;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use sha2::{Digest as _, Sha256};

/// The largest file, in bytes. A chain has a few kilobytes.
const MAX_BYTES: u64 = 1 << 20;

/// A certificate or key cannot be used. The messages have nothing of the files' content.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read.
    #[error("{setting} {}: the file cannot be read: {reason}", .path.display())]
    Unreadable {
        /// The setting that names it.
        setting: &'static str,
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        reason: String,
    },
    /// A file has no certificate or no key.
    #[error("{setting} {}: the file has no {what} in PEM", .path.display())]
    Empty {
        /// The setting that names it.
        setting: &'static str,
        /// The file.
        path: PathBuf,
        /// What is missing.
        what: &'static str,
    },
    /// The certificate and the key do not belong together, or are of an unknown kind.
    #[error("tls.certificateFile and tls.keyFile cannot be used: {0}")]
    Unusable(String),
}

impl TlsError {
    /// A short name.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Unreadable { .. } => "unreadable",
            Self::Empty { .. } => "empty",
            Self::Unusable(_) => "unusable",
        }
    }
}

/// The files with the certificate and the key.
pub(super) struct Files {
    certificate: PathBuf,
    key: PathBuf,
    /// The hash of what was read last.
    last: Mutex<Option<[u8; 32]>>,
}

/// What the files hold.
pub(super) struct Contents<'a> {
    files: &'a Files,
    certificate: Vec<u8>,
    key: Vec<u8>,
}

impl Files {
    /// The files of the settings, if they name any.
    pub fn of(settings: &TlsSettings) -> Option<Self> {
        let (certificate, key) = (settings.certificate_file.clone()?, settings.key_file.clone()?);
        Some(Self { certificate, key, last: Mutex::new(None) })
    }

    /// Reads both files.
    pub fn read(&self) -> Result<Contents<'_>, TlsError> {
        let certificate = read("tls.certificateFile", &self.certificate)?;
        let contents = Contents { files: self, certificate, key: read("tls.keyFile", &self.key)? };
        *self.last.lock() = Some(contents.hash());
        Ok(contents)
    }

    /// The certificate with its key, if they have changed since the last call. What cannot be used is reported once.
    pub fn changed(&self) -> Result<Option<CertifiedKey>, TlsError> {
        let last = *self.last.lock();
        let contents = match self.read() {
            Ok(contents) => contents,
            Err(_) if last.is_none() => return Ok(None),
            Err(error) => {
                *self.last.lock() = None;
                return Err(error);
            }
        };
        if last == Some(contents.hash()) { Ok(None) } else { contents.certified_key().map(Some) }
    }
}

impl Contents<'_> {
    fn hash(&self) -> [u8; 32] {
        let key = Sha256::digest(&self.key);
        Sha256::new_with_prefix(&self.certificate).chain_update(key).finalize().into()
    }

    /// The certificate chain with its key.
    pub fn certified_key(&self) -> Result<CertifiedKey, TlsError> {
        let chain: Vec<CertificateDer<'static>> =
            CertificateDer::pem_slice_iter(&self.certificate).filter_map(Result::ok).collect();
        if chain.is_empty() {
            return Err(self.empty("tls.certificateFile", &self.files.certificate, "certificate"));
        }
        let key = PrivateKeyDer::from_pem_slice(&self.key)
            .map_err(|_| self.empty("tls.keyFile", &self.files.key, "private key"))?;
        CertifiedKey::from_der(chain, key, &ring::default_provider())
            .map_err(|error| TlsError::Unusable(error.to_string()))
    }

    fn empty(&self, setting: &'static str, path: &Path, what: &'static str) -> TlsError {
        TlsError::Empty { setting, path: path.to_owned(), what }
    }
}

fn read(setting: &'static str, path: &Path) -> Result<Vec<u8>, TlsError> {
    let failed = |reason: String| TlsError::Unreadable { setting, path: path.to_owned(), reason };
    // Opening a pipe would wait for its other end.
    if !std::fs::metadata(path).map_err(|error| failed(error.to_string()))?.is_file() {
        return Err(failed("it is not a file".to_owned()));
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|error| failed(error.to_string()))?;
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(|error| failed(error.to_string()))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(failed(format!("it has more than {MAX_BYTES} bytes")));
    }
    Ok(bytes)
}

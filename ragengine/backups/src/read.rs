use bytes::Bytes;
use futures_util::stream::{self, Stream};
use object_store::ObjectStoreExt as _;
use sha2::{Digest as _, Sha256};

use crate::{BackupError, Bucket, Manifest, Name};

/// The size of a piece in bytes. Each is a request with its own timeout and retries.
const PIECE_BYTES: u64 = 8 << 20;

struct Reading {
    bucket: Bucket,
    name: Name,
    manifest: Manifest,
    at: u64,
    digest: Sha256,
}

impl Bucket {
    /// Streams the tar file of a backup. The last piece is given out only if the SHA-256 of the whole file is that of the
    /// manifest, so a receiver that needs the whole file never gets a damaged one.
    ///
    /// The stream ends with [`BackupError::Damaged`] if the file is damaged, or with [`BackupError::Request`].
    pub fn read(&self, manifest: &Manifest) -> impl Stream<Item = Result<Bytes, BackupError>> + Send + 'static {
        let name = Name::parse(&manifest.name);
        let (bucket, manifest) = (self.clone(), manifest.clone());
        let start = name.map(|name| Reading { bucket, name, manifest, at: 0, digest: Sha256::new() });
        stream::try_unfold(start, |reading| async move {
            let Some(reading) = reading.filter(|reading| reading.at < reading.manifest.bytes) else { return Ok(None) };
            let (piece, reading) = reading.next().await?;
            Ok(Some((piece, Some(reading))))
        })
    }
}

impl Reading {
    async fn next(mut self) -> Result<(Bytes, Self), BackupError> {
        let end = self.manifest.bytes.min(self.at + PIECE_BYTES);
        let piece = self.bucket.store.get_range(&self.bucket.key(&self.name), self.at..end).await;
        let piece = piece.map_err(BackupError::of("read the backup"))?;
        if piece.len() as u64 != end - self.at {
            return Err(self.damaged(format!("it has fewer than {} bytes", self.manifest.bytes)));
        }
        self.digest.update(&piece);
        self.at = end;
        if self.at == self.manifest.bytes {
            let found = hex::encode(self.digest.clone().finalize());
            if found != self.manifest.sha256 {
                return Err(self.damaged(format!("its SHA-256 is {found} instead of {}", self.manifest.sha256)));
            }
        }
        Ok((piece, self))
    }

    fn damaged(&self, reason: String) -> BackupError {
        BackupError::Damaged { name: self.name.to_string(), reason }
    }
}

use bytes::{Bytes, BytesMut};
use object_store::{MultipartUpload, ObjectStoreExt as _, PutPayload};
use sha2::{Digest as _, Sha256};

use crate::manifest::FORMAT;
use crate::{BackupError, Bucket, Contents, Manifest, Name};

/// The size of a part in bytes. S3 needs at least 5 MiB, except for the last.
const PART_BYTES: usize = 16 << 20;

/// The most parts of an upload, a limit of S3.
const MAX_PARTS: u64 = 10_000;

/// A backup that is being uploaded. Until [`Self::finish`] has returned, it is not a backup.
#[derive(Debug)]
pub struct Upload {
    bucket: Bucket,
    name: Name,
    parts: Box<dyn MultipartUpload>,
    part: BytesMut,
    bytes: u64,
    sent_parts: u64,
    digest: Sha256,
}

impl Upload {
    pub(crate) async fn begin(bucket: Bucket, name: Name) -> Result<Self, BackupError> {
        let parts = bucket.store.put_multipart(&bucket.key(&name)).await;
        let parts = parts.map_err(BackupError::of("start the upload"))?;
        Ok(Self { bucket, name, parts, part: BytesMut::new(), bytes: 0, sent_parts: 0, digest: Sha256::new() })
    }

    /// The number of bytes so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Appends bytes. A full part is sent before this returns, so memory holds at most two parts.
    ///
    /// # Errors
    ///
    /// [`BackupError::Request`] when the server refuses a part, such as when the bucket is full.
    pub async fn write(&mut self, mut bytes: &[u8]) -> Result<(), BackupError> {
        self.digest.update(bytes);
        self.bytes += bytes.len() as u64;
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(PART_BYTES - self.part.len()));
            self.part.extend_from_slice(now);
            bytes = later;
            if self.part.len() == PART_BYTES {
                self.send().await?;
            }
        }
        Ok(())
    }

    /// Completes the upload, compares the stored size, and writes the manifest.
    ///
    /// # Errors
    ///
    /// When the server refuses or stored something else. There is no new backup then.
    pub async fn finish(mut self, contents: Contents) -> Result<Manifest, BackupError> {
        match self.store(contents).await {
            Ok(manifest) => Ok(manifest),
            Err(error) => {
                self.abort().await;
                Err(error)
            }
        }
    }

    async fn store(&mut self, contents: Contents) -> Result<Manifest, BackupError> {
        if !self.part.is_empty() {
            self.send().await?;
        }
        self.parts.complete().await.map_err(BackupError::of("complete the upload"))?;
        let key = self.bucket.key(&self.name);
        let stored = self.bucket.store.head(&key).await.map_err(BackupError::of("check the uploaded backup"))?.size;
        if stored != self.bytes {
            return Err(BackupError::NotStored { name: self.name.to_string(), sent: self.bytes, stored });
        }
        let manifest = Manifest {
            format: FORMAT,
            name: self.name.to_string(),
            bytes: self.bytes,
            sha256: hex::encode(self.digest.clone().finalize()),
            contents,
        };
        let action = "write the manifest";
        let json = serde_json::to_vec_pretty(&manifest)
            .map_err(|error| BackupError::Request { action, reason: error.to_string() })?;
        let key = self.bucket.manifest_key(&self.name);
        self.bucket.store.put(&key, json.into()).await.map_err(BackupError::of(action))?;
        Ok(manifest)
    }

    /// Removes what was uploaded, as far as the server allows it. What remains is not a backup.
    pub async fn abort(mut self) {
        // The next backup deletes a file without manifest. A rule of the bucket deletes parts of an upload that was not
        // completed.
        drop(self.parts.abort().await);
        for key in [self.bucket.manifest_key(&self.name), self.bucket.key(&self.name)] {
            drop(self.bucket.store.delete(&key).await);
        }
    }

    async fn send(&mut self) -> Result<(), BackupError> {
        if self.sent_parts == MAX_PARTS {
            return Err(BackupError::TooLarge { max_bytes: MAX_PARTS * PART_BYTES as u64 });
        }
        let part: Bytes = std::mem::take(&mut self.part).freeze();
        self.parts.put_part(PutPayload::from_bytes(part)).await.map_err(BackupError::of("upload the backup"))?;
        self.sent_parts += 1;
        Ok(())
    }
}

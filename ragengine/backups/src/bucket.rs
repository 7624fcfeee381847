use object_store::ObjectStoreExt as _;
use object_store::aws::AmazonS3;
use object_store::path::Path;
use ragengine_settings::sync::S3;
use ragengine_sources::{Access, connect_bucket};

use crate::listing::{Listing, list};
use crate::manifest::MAX_MANIFEST_BYTES;
use crate::retention::superseded;
use crate::{BackupError, Manifest, Name, Upload};

/// The backups below a prefix of a bucket.
#[derive(Debug, Clone)]
pub struct Bucket {
    pub(crate) store: AmazonS3,
    prefix: String,
    /// Bucket and prefix, for messages.
    place: String,
}

impl Bucket {
    /// Prepares to use a bucket. No request is sent yet.
    ///
    /// # Errors
    ///
    /// [`BackupError::Bucket`] when its address is not permitted, or the credentials cannot be read or used.
    pub async fn connect(settings: &S3, access: &Access) -> Result<Self, BackupError> {
        let store = connect_bucket(settings, access).await?;
        let prefix = settings.prefix.as_deref().unwrap_or_default().trim_matches('/').to_owned();
        let place = format!("s3://{}/{prefix}", settings.bucket);
        Ok(Self { store, prefix, place })
    }

    /// Bucket and prefix: `s3://BUCKET/PREFIX`.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// Starts the upload of a backup.
    ///
    /// # Errors
    ///
    /// [`BackupError::Request`] when the server refuses.
    pub async fn begin(&self, name: Name) -> Result<Upload, BackupError> {
        Upload::begin(self.clone(), name).await
    }

    /// The newest complete backup that has an index, or the complete backup of this name. Backups of all writers count.
    ///
    /// # Errors
    ///
    /// [`BackupError::Missing`] if there is none, [`BackupError::Damaged`] if the one of this name has no valid manifest
    /// or another size, otherwise [`BackupError::Request`].
    pub async fn find(&self, name: Option<&str>) -> Result<Manifest, BackupError> {
        let listing = self.list().await?;
        let missing = |hint| BackupError::Missing { name: name.map(str::to_owned), place: self.place.clone(), hint };
        if let Some(text) = name {
            let name = Name::parse(text).filter(|name| listing.is_complete(name));
            let name = name.ok_or_else(|| missing(listing.hint()))?;
            return self.good(&name, &listing).await?.map_err(|reason| damaged(&name, reason));
        }
        let mut refused = None;
        for name in listing.complete() {
            let hint = match self.good(name, &listing).await? {
                Ok(manifest) if manifest.contents.is_empty() => format!(", but {name}, which has no index"),
                Ok(manifest) => return Ok(manifest),
                Err(reason) => format!(", and {name} is damaged: {reason}"),
            };
            refused.get_or_insert(hint);
        }
        Err(missing(refused.unwrap_or_else(|| listing.hint())))
    }

    /// Deletes the backups of a writer that `newest`, which it has just written, and the newest `keep - 1` other good ones
    /// supersede, and older leftovers of its uploads. `newest` stays even if the names of the others are of a later time.
    /// Returns the deleted names.
    ///
    /// # Errors
    ///
    /// When the bucket cannot be listed completely, or the backup `newest` is not among the listed ones: nothing was
    /// deleted then. Also when deletions fail: the error is that of the first, and the others were tried nevertheless.
    pub async fn prune(&self, writer: &str, keep: usize, newest: &Name) -> Result<Vec<Name>, BackupError> {
        let listing = self.list().await?;
        if !listing.is_complete(newest) {
            let reason = format!("the listing of {} lacks the new backup {newest}", self.place);
            return Err(BackupError::Request { action: "delete superseded backups", reason });
        }
        let mut good = vec![newest.clone()];
        for name in listing.complete().filter(|name| name.is_of(writer) && *name != newest) {
            if good.len() >= keep {
                break;
            }
            // One without an index must not take the place of one that has the data. Neither must one whose manifest
            // cannot be read now. It is newer than the oldest that counts, so it stays.
            let read = self.good(name, &listing).await;
            if read.is_ok_and(|good| good.is_ok_and(|manifest| !manifest.contents.is_empty())) {
                good.push(name.clone());
            }
        }
        let superseded = superseded(listing.all().filter(|name| name.is_of(writer)).cloned(), &good, keep);
        let mut failed = None;
        for name in &superseded {
            if let Err(error) = self.delete(name).await {
                failed.get_or_insert(error);
            }
        }
        failed.map_or(Ok(superseded), Err)
    }

    async fn delete(&self, name: &Name) -> Result<(), BackupError> {
        // The manifest first, so that a deletion that is interrupted leaves no backup without its file.
        for key in [self.manifest_key(name), self.key(name)] {
            match self.store.delete(&key).await {
                Ok(()) | Err(object_store::Error::NotFound { .. }) => {}
                Err(error) => return Err(BackupError::of("delete a superseded backup")(error)),
            }
        }
        Ok(())
    }

    /// The manifest of a backup whose size is right, or the reason why the backup is not good.
    async fn good(&self, name: &Name, listing: &Listing) -> Result<Result<Manifest, String>, BackupError> {
        let failed = BackupError::of("read the manifest of a backup");
        let object = self.store.get(&self.manifest_key(name)).await.map_err(&failed)?;
        if object.meta.size > MAX_MANIFEST_BYTES {
            return Ok(Err(format!("its manifest has {} bytes", object.meta.size)));
        }
        let json = object.bytes().await.map_err(&failed)?;
        let manifest = match Manifest::parse(&json, name) {
            Ok(manifest) => manifest,
            Err(reason) => return Ok(Err(reason)),
        };
        Ok(match listing.bytes_of(name) {
            Some(bytes) if bytes != manifest.bytes => Err(format!("it has {bytes} of {} bytes", manifest.bytes)),
            _ => Ok(manifest),
        })
    }

    async fn list(&self) -> Result<Listing, BackupError> {
        let prefix = if self.prefix.is_empty() { String::new() } else { format!("{}/", self.prefix) };
        list(&self.store, &prefix).await
    }

    pub(crate) fn key(&self, name: &Name) -> Path {
        Path::from(format!("{}/{name}", self.prefix))
    }

    pub(crate) fn manifest_key(&self, name: &Name) -> Path {
        Path::from(format!("{}/{name}.json", self.prefix))
    }
}

fn damaged(name: &Name, reason: String) -> BackupError {
    BackupError::Damaged { name: name.to_string(), reason }
}

//! Places of backups: in the settings of the server, and in the task of a backup.

use std::path::Path;

use ragengine_operator_api::{BackupBucket, BackupVolume, Bootstrap, RagEngineSpec, Restore};
use ragengine_settings as settings;

use super::access::secret_folder;
use crate::names::Identity;

/// The name of the volume with the credentials for the bucket of `bootstrap.restore`.
pub const RESTORE_KEYS: &str = "restore-keys";
/// The name of the volume with the backups of `bootstrap.restore`.
pub const RESTORE: &str = "restore";
/// The folder that it is mounted at.
pub const RESTORE_FOLDER: &str = "/restore";

/// The folder of the credentials for the bucket of `bootstrap.restore`.
pub fn restore_keys_folder() -> std::path::PathBuf {
    secret_folder(RESTORE_KEYS)
}

/// The backup that a new engine restores.
pub fn restore_of(spec: &RagEngineSpec) -> Option<&Restore> {
    spec.bootstrap.as_ref()?.restore.as_ref()
}

pub(super) fn bootstrap(bootstrap: Option<&Bootstrap>, identity: &Identity) -> settings::Bootstrap {
    let restore = bootstrap.and_then(|bootstrap| bootstrap.restore.as_ref());
    let restore = restore.map(|restore| {
        let Restore { s3, persistent_volume_claim, name } = restore;
        let place = match (s3, persistent_volume_claim) {
            (Some(bucket), _) => bucket_place(bucket, identity, &restore_keys_folder()),
            (None, Some(volume)) => volume_place(volume, identity, Path::new(RESTORE_FOLDER)),
            (None, None) => settings::BackupPlace::default(),
        };
        settings::RestoreFrom { place, name: name.clone(), ..settings::RestoreFrom::default() }
    });
    settings::Bootstrap { restore }
}

/// A bucket. Its credentials are in the folder.
pub fn bucket_place(bucket: &BackupBucket, identity: &Identity, credentials: &Path) -> settings::BackupPlace {
    let BackupBucket { bucket, prefix, endpoint, region, access_secret } = bucket.clone();
    let bucket = settings::BackupBucket {
        bucket,
        prefix: Some(prefix.unwrap_or_else(|| format!("{}/{}", identity.namespace, identity.name))),
        endpoint,
        region,
        credentials: access_secret.map(|_| credentials.to_owned()),
        credential_hosts: Vec::new(),
    };
    settings::BackupPlace { s3: Some(bucket), folder: None }
}

/// A folder of a volume that is mounted at this path.
pub fn volume_place(volume: &BackupVolume, identity: &Identity, mounted: &Path) -> settings::BackupPlace {
    let folder = mounted.join(volume.path.as_ref().unwrap_or(&identity.name));
    settings::BackupPlace { s3: None, folder: Some(folder) }
}

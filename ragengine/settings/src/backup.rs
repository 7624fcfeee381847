//! The tasks of one backup and of one restore, read by `ragengine backup --task` and `ragengine restore --task`. A person
//! writes them, or the operator renders the first into the CronJob of a RAGEngine.

use std::num::NonZeroU32;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::sync::{AddressRange, S3};
use crate::{BackupBucket, BackupPlace, RestoreFrom, SecretReference};

/// One backup of a running server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BackupTask {
    /// The server's address, for example `https://docs.default.svc`.
    pub server: String,
    /// Files with certificates in PEM format that are trusted for the server, as in the task of a synchronisation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub server_ca_files: Vec<PathBuf>,
    /// The server's write token, if it requires one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_token: Option<SecretReference>,
    /// Who writes the backup, such as the uid of a RAGEngine. Only backups of the same writer are deleted.
    pub writer: String,
    /// Where the backup is written to. A folder is created if it is missing.
    pub place: BackupPlace,
    /// How many good backups are kept. Older ones are deleted after this one has succeeded.
    pub keep: NonZeroU32,
    /// Addresses that the bucket may have although they are link-local, loopback or the Kubernetes API server's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed_ranges: Vec<AddressRange>,
    /// The file that gets a [`BackupResult`] as JSON once the backup is complete, or a [`NoBackup`] if there was nothing to
    /// back up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_file: Option<PathBuf>,
}

/// A complete backup, as the process that wrote it reports it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BackupResult {
    /// Its name.
    pub name: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// Number of indexes.
    pub indexes: u64,
    /// Number of documents in all indexes.
    pub documents: u64,
}

/// What a process reports that succeeded without a backup. It cannot be read as a [`BackupResult`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NoBackup {
    /// Why there is no backup, as a clause.
    pub reason: String,
}

/// One restore into a running server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RestoreTask {
    /// The server's address.
    pub server: String,
    /// Files with certificates in PEM format that are trusted for the server, as in the task of a synchronisation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub server_ca_files: Vec<PathBuf>,
    /// The server's write token, if it requires one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_token: Option<SecretReference>,
    /// The backup.
    pub from: RestoreFrom,
}

impl From<&BackupBucket> for S3 {
    fn from(bucket: &BackupBucket) -> Self {
        let BackupBucket { bucket, prefix, endpoint, region, credentials, credential_hosts } = bucket.clone();
        Self { bucket, endpoint, region, prefix, credentials, credential_hosts }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_has_a_place_and_no_unknown_fields() {
        let text = "server: http://docs\nwriter: uid\nplace: {folder: /backups}\nkeep: 7\n";
        let task: BackupTask = serde_saphyr::from_str(text).unwrap();
        assert_eq!(task.place.check(), Ok(()));
        assert_eq!(task.keep.get(), 7);
        for wrong in ["keep: 0", "keep: 7\nkept: 7", ""] {
            assert!(serde_saphyr::from_str::<BackupTask>(&text.replace("keep: 7\n", wrong)).is_err(), "{wrong}");
        }
        for place in ["{}", "{folder: /b, s3: {bucket: b}}"] {
            let task: BackupTask = serde_saphyr::from_str(&text.replace("{folder: /backups}", place)).unwrap();
            assert!(task.place.check().is_err(), "{place}");
        }
    }

    #[test]
    fn the_lack_of_a_backup_is_not_taken_for_one() {
        let none = serde_json::to_string(&NoBackup { reason: "there is no index yet".to_owned() }).unwrap();
        assert_eq!(none, r#"{"reason":"there is no index yet"}"#);
        assert!(serde_json::from_str::<BackupResult>(&none).is_err());
    }

    #[test]
    fn a_bucket_with_backups_is_read_as_a_bucket_with_documents() {
        let text =
            "{bucket: b, prefix: p, endpoint: 'http://s3', region: r, credentials: /keys, credentialHosts: [s3]}";
        let bucket: BackupBucket = serde_saphyr::from_str(text).unwrap();
        assert_eq!(S3::from(&bucket), serde_saphyr::from_str(text).unwrap());
    }
}

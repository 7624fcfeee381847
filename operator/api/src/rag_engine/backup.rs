use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::rules::{OBJECT_NAME, http_url};

/// Regular backups of all indexes, made from the running server.
#[derive(KubeSchema, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = one_place("backup"))]
pub struct Backup {
    /// When a backup is made: a cron expression of five fields in UTC, such as `30 2 * * *` for every night, as a
    /// CronJob of Kubernetes understands it: without `L`, `W` and `#`, and with 0 for Sunday.
    #[schemars(length(max = 128))]
    #[x_kube(
        validation = Rule::new("self.matches('^[^ ]+( [^ ]+){4}$')").message(
            "backup.schedule must have five fields with one space between them (minute, hour, day of the month, month, \
             day of the week), in UTC: for example 30 2 * * * for every night"
        )
    )]
    pub schedule: String,
    /// If true, no backup starts; a running one finishes. Default: false.
    #[serde(default)]
    pub suspend: bool,
    /// Number of good backups that are kept. Older backups of this engine are deleted after a new one has succeeded.
    /// Default: 7.
    #[serde(default = "seven")]
    #[schemars(range(min = 1, max = 1000))]
    pub keep: u32,
    /// Writes the backups into an S3 bucket. Exactly one of `s3` and `persistentVolumeClaim` is required.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub s3: Option<BackupBucket>,
    /// Writes the backups to a volume.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persistent_volume_claim: Option<BackupVolume>,
}

/// How an engine with an empty data folder begins.
#[derive(KubeSchema, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Bootstrap {
    /// Backup that is restored before the engine is ready, if its data folder has no index and nothing was restored into
    /// it before. Default: the engine begins without indexes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restore: Option<Restore>,
}

/// Backup to restore.
#[derive(KubeSchema, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = one_place("bootstrap.restore"))]
pub struct Restore {
    /// Reads the backup from an S3 bucket. Exactly one of `s3` and `persistentVolumeClaim` is required.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub s3: Option<BackupBucket>,
    /// Reads the backup from a volume.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persistent_volume_claim: Option<BackupVolume>,
    /// Name of the backup, such as `ragengine-20261102T023000Z-1a2b3c4d.tar`. Default: the newest good one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253), regex(pattern = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"))]
    pub name: Option<String>,
}

/// Bucket with backups.
#[derive(KubeSchema, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BackupBucket {
    /// Name of the bucket.
    #[schemars(length(min = 1, max = 255), regex(pattern = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"))]
    pub bucket: String,
    /// Prefix of the backups' keys, without `/` at its beginning and end. Default: `NAMESPACE/NAME` of this engine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 512), regex(pattern = r"^[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*$"))]
    #[x_kube(
        validation = Rule::new("!self.matches('(^|/)[.]{1,2}(/|$)')")
            .message("s3.prefix must have no part '.' or '..': for example clusters/one/docs")
    )]
    pub prefix: Option<String>,
    /// URL of the S3-compatible service, such as `https://s3.example.com`. Default: Amazon S3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    #[x_kube(validation = http_url("s3.endpoint", "https://s3.example.com"))]
    pub endpoint: Option<String>,
    /// Region of the bucket. Default: `us-east-1`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 64), regex(pattern = r"^[A-Za-z0-9-]+$"))]
    pub region: Option<String>,
    /// Name of a Secret with the keys `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`, and optionally
    /// `AWS_SESSION_TOKEN`. The optional key `ca.crt` adds a certificate authority. Default: requests are not signed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253), regex(pattern = OBJECT_NAME))]
    pub access_secret: Option<String>,
}

/// Volume with backups.
#[derive(KubeSchema, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BackupVolume {
    /// Name of a PersistentVolumeClaim in the same namespace.
    #[schemars(length(min = 1, max = 253), regex(pattern = OBJECT_NAME))]
    pub claim_name: String,
    /// Folder of the volume, relative to its root. Each engine needs a separate one. Default: the name of this engine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 512), regex(pattern = r"^[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*$"))]
    #[x_kube(
        validation = Rule::new("!self.matches('(^|/)[.]{1,2}(/|$)')")
            .message("persistentVolumeClaim.path must have no part '.' or '..': for example backups/docs")
    )]
    pub path: Option<String>,
}

/// Exactly one place must be set.
fn one_place(section: &str) -> kube::core::Rule {
    let message = format!(
        "{section} needs exactly one of s3 and persistentVolumeClaim: for example s3: {{bucket: backups, accessSecret: \
         backup-keys}}"
    );
    kube::core::Rule::new("has(self.s3) != has(self.persistentVolumeClaim)").message(message.as_str())
}

fn seven() -> u32 {
    7
}

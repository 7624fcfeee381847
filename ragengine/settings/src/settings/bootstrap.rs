use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::sync::AddressRange;

/// How a server with an empty data folder begins.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Bootstrap {
    /// The backup that is restored before the server is ready, if the data folder has no index and nothing was restored
    /// into it before. Not set: the server begins without indexes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restore: Option<RestoreFrom>,
}

/// A backup to restore.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct RestoreFrom {
    /// Where the backup is.
    pub place: BackupPlace,
    /// The name of the backup. Not set: the newest good one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Addresses that the bucket may have although they are link-local, loopback or the Kubernetes API server's.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<String>")]
    pub allowed_ranges: Vec<AddressRange>,
}

/// A place with backups: a bucket or a folder.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct BackupPlace {
    /// A bucket. Not set: `folder` is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub s3: Option<BackupBucket>,
    /// A folder. Not set: `s3` is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<PathBuf>,
}

/// A bucket with backups.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct BackupBucket {
    /// The name of the bucket.
    pub bucket: String,
    /// The prefix of the backups, such as `default/docs`. Not set: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// The address of the S3 service. Not set: Amazon's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// The region. Not set: `us-east-1`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// A folder with the files of a Secret: `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`, optionally
    /// `AWS_SESSION_TOKEN`; `ca.crt` for a private certificate authority. Not set: requests are not signed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credentials: Option<PathBuf>,
    /// The hosts that the credentials may be sent to. Empty: any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub credential_hosts: Vec<String>,
}

impl BackupPlace {
    /// Checks that exactly one place is set.
    ///
    /// # Errors
    ///
    /// What is wrong, as a clause.
    pub fn check(&self) -> Result<(), &'static str> {
        match (&self.s3, &self.folder) {
            (Some(s3), None) if s3.bucket.is_empty() => Err("needs the name of a bucket in s3.bucket"),
            (Some(_), None) | (None, Some(_)) => Ok(()),
            _ => Err("must have exactly one of s3 and folder"),
        }
    }
}

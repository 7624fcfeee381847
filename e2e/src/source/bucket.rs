use serde_json::{Value, json};

use super::{BUCKET, Source, Storage, WORK_FOLDER};
use crate::Error;
use crate::changes::Changes;
use crate::namespace::Namespace;

const NAME: &str = "s3";

/// An object store with one bucket, named `s3`.
pub struct Bucket(Source);

impl Bucket {
    /// The access key of who may read it.
    pub const ACCESS_KEY: &str = "an-access-key";

    /// Starts one.
    ///
    /// # Errors
    ///
    /// When the cluster refuses, or it does not run in time.
    pub async fn start(namespace: &Namespace, secret_key: &str) -> Result<Self, Error> {
        let arguments = ["s3", WORK_FOLDER, "--access-key", Self::ACCESS_KEY, "--secret-key", secret_key];
        Source::start(namespace, NAME, &arguments, Storage::Ephemeral).await.map(Self)
    }

    /// The bucket as a source has it.
    pub fn specification(&self, secret: &str) -> Value {
        json!({"bucket": BUCKET, "endpoint": format!("http://{}", self.0.authority()), "accessSecret": secret})
    }

    /// Changes its objects.
    ///
    /// # Errors
    ///
    /// When it does not take that.
    pub async fn change(&self, changes: &Changes) -> Result<(), Error> {
        self.0.change(changes).await.map(drop)
    }

    /// What a Secret for it has.
    pub fn credentials(secret_key: &str) -> Value {
        json!({"AWS_ACCESS_KEY_ID": Self::ACCESS_KEY, "AWS_SECRET_ACCESS_KEY": secret_key})
    }
}

use serde_json::{Value, json};

use super::{BUCKET, Source, Storage, WORK_FOLDER};
use crate::Error;
use crate::changes::Changes;
use crate::namespace::Namespace;

const NAME: &str = "s3";

/// An object store with one bucket, named `s3`.
pub struct Bucket(Source);

impl Bucket {
    /// The access key of the reader.
    pub const ACCESS_KEY: &str = "an-access-key";

    /// Starts the object store.
    ///
    /// # Errors
    ///
    /// When the cluster refuses, or the pod does not start in time.
    pub async fn start(namespace: &Namespace, secret_key: &str) -> Result<Self, Error> {
        let arguments = ["s3", WORK_FOLDER, "--access-key", Self::ACCESS_KEY, "--secret-key", secret_key];
        Source::start(namespace, NAME, &arguments, Storage::Ephemeral).await.map(Self)
    }

    /// The specification of the source.
    pub fn specification(&self, secret: &str) -> Value {
        json!({"bucket": BUCKET, "endpoint": format!("http://{}", self.0.authority()), "accessSecret": secret})
    }

    /// Changes objects.
    ///
    /// # Errors
    ///
    /// When the source refuses the changes.
    pub async fn change(&self, changes: &Changes) -> Result<(), Error> {
        self.0.change(changes).await.map(drop)
    }

    /// The data of the source's Secret.
    pub fn credentials(secret_key: &str) -> Value {
        json!({"AWS_ACCESS_KEY_ID": Self::ACCESS_KEY, "AWS_SECRET_ACCESS_KEY": secret_key})
    }
}

use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use serde_json::json;

use super::{Source, Storage, WORK_FOLDER};
use crate::Error;
use crate::changes::Changes;
use crate::namespace::Namespace;

/// A volume, with a pod that writes to it.
pub struct Claim(Source);

impl Claim {
    /// The claim's name.
    pub const NAME: &str = "archive";

    /// Creates the claim, and starts the pod.
    ///
    /// # Errors
    ///
    /// When the cluster refuses, or the pod does not start in time.
    pub async fn start(namespace: &Namespace) -> Result<Self, Error> {
        let claim = json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": Self::NAME},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "256Mi"}}},
        });
        namespace.apply::<PersistentVolumeClaim>(Self::NAME, &claim).await?;
        let storage = Storage::Claim(Self::NAME);
        Source::start(namespace, "writer", &["files", WORK_FOLDER], storage).await.map(Self)
    }

    /// Changes files of the volume.
    ///
    /// # Errors
    ///
    /// When the source refuses the changes.
    pub async fn change(&self, changes: &Changes) -> Result<(), Error> {
        self.0.change(changes).await.map(drop)
    }
}

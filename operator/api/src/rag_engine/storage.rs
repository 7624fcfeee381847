use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rules::{OBJECT_NAME, mount_path};

/// Where the volume is mounted when nothing else is said.
pub const DEFAULT_MOUNT_PATH: &str = "/mnt/data";

/// Where the indexes are kept.
#[derive(KubeSchema, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("!(has(self.persistentVolume) && has(self.persistentVolumeClaim))")
        .message("storage must not have both persistentVolume and persistentVolumeClaim: write the claim's name into persistentVolume.persistentVolumeClaim and remove storage.persistentVolumeClaim"),
    validation = Rule::new("!has(self.mountPath) || has(self.persistentVolumeClaim)")
        .message("storage.mountPath is for storage.persistentVolumeClaim only: write it into persistentVolume.mountPath"),
)]
pub struct Storage {
    /// A volume of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persistent_volume: Option<PersistentVolume>,
    /// The older place of `persistentVolume.persistentVolumeClaim`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253), regex(pattern = OBJECT_NAME))]
    pub persistent_volume_claim: Option<String>,
    /// The older place of `persistentVolume.mountPath`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    #[x_kube(validation = mount_path("storage.mountPath"))]
    pub mount_path: Option<String>,
    /// A vector database to keep the indexes in. It is accepted, and nothing is done with it: the engine keeps its indexes itself.
    #[serde(rename = "vectorDB", default, skip_serializing_if = "Option::is_none")]
    pub vector_database: Option<VectorDatabase>,
    /// What happens to the claim that was made for `persistentVolume.size` when the RAGEngine is deleted. A claim that you named is never touched.
    #[serde(default)]
    pub deletion_policy: DeletionPolicy,
}

/// A vector database. It is accepted, and nothing is done with it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VectorDatabase {
    /// Which one. `faiss`, or none, means what the engine does anyway.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub engine: Option<String>,
    /// Its address. It is accepted, and nothing is done with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2048))]
    pub url: Option<String>,
    /// The name of a Secret with its key. It is accepted, and nothing is done with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub access_secret: Option<String>,
}

impl VectorDatabase {
    /// Whether it asks for anything but what the engine does anyway.
    pub fn is_external(&self) -> bool {
        self.engine.as_deref().is_some_and(|engine| !engine.eq_ignore_ascii_case("faiss"))
            || self.url.as_deref().is_some_and(|url| !url.is_empty())
    }
}

/// A PersistentVolumeClaim: one that is made, or one that exists.
#[derive(KubeSchema, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("has(self.size) != has(self.persistentVolumeClaim)")
        .message("storage.persistentVolume needs exactly one of size and persistentVolumeClaim: write size: 10Gi to have a claim made, or the name of a claim that exists"),
    validation = Rule::new("!has(self.storageClassName) || has(self.size)")
        .message("storage.persistentVolume.storageClassName is for a claim that is made: write size too, or remove storageClassName"),
    validation = Rule::new("!has(self.size) || !has(oldSelf.size) || (has(self.storageClassName) ? self.storageClassName : '') == (has(oldSelf.storageClassName) ? oldSelf.storageClassName : '')")
        .message("storage.persistentVolume.storageClassName cannot be changed, because a claim cannot: make another RAGEngine with the other class"),
)]
pub struct PersistentVolume {
    /// The size of the claim that is made. It may grow later, where the storage class allows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32))]
    #[x_kube(validation = Rule::new("isQuantity(self) && quantity(self).compareTo(quantity('1Mi')) >= 0").message("storage.persistentVolume.size must be at least 1Mi: for example 10Gi"))]
    pub size: Option<String>,
    /// The storage class of the claim that is made. Not set: the cluster's default. It cannot be changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253), regex(pattern = OBJECT_NAME))]
    pub storage_class_name: Option<String>,
    /// The name of a claim that exists in the same namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253), regex(pattern = OBJECT_NAME))]
    pub persistent_volume_claim: Option<String>,
    /// Where the volume is mounted in the server's container.
    #[serde(default = "default_mount_path")]
    #[schemars(length(max = 256))]
    #[x_kube(validation = mount_path("storage.persistentVolume.mountPath"))]
    pub mount_path: String,
}

/// What happens to the claim that was made when the RAGEngine is deleted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum DeletionPolicy {
    /// It stays, and a RAGEngine of the same name finds it again.
    #[default]
    Retain,
    /// It is deleted, with all indexes.
    Delete,
}

/// The volume that all of [`Storage`] comes down to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Volume<'a> {
    /// On the node, until the pod is deleted.
    Ephemeral,
    /// A claim that exists.
    Existing {
        /// Its name.
        claim: &'a str,
        /// Where it is mounted.
        mount_path: &'a str,
    },
    /// A claim that is made.
    Made {
        /// Its size, a quantity.
        size: &'a str,
        /// Its storage class; the cluster's default where there is none.
        storage_class_name: Option<&'a str>,
        /// Where it is mounted.
        mount_path: &'a str,
        /// What happens to it when the RAGEngine is deleted.
        deletion_policy: DeletionPolicy,
    },
}

impl Storage {
    /// The volume that is meant: both places of a claim's name mean the same. What the rules refuse is not looked at again here.
    pub fn volume(&self) -> Volume<'_> {
        let older = self.persistent_volume_claim.as_deref().map(|claim| Volume::Existing {
            claim,
            mount_path: self.mount_path.as_deref().unwrap_or(DEFAULT_MOUNT_PATH),
        });
        let newer = self.persistent_volume.as_ref().and_then(|volume| {
            let mount_path = volume.mount_path.as_str();
            match (&volume.persistent_volume_claim, &volume.size) {
                (Some(claim), _) => Some(Volume::Existing { claim, mount_path }),
                (None, Some(size)) => Some(Volume::Made {
                    size,
                    storage_class_name: volume.storage_class_name.as_deref(),
                    mount_path,
                    deletion_policy: self.deletion_policy,
                }),
                (None, None) => None,
            }
        });
        newer.or(older).unwrap_or(Volume::Ephemeral)
    }
}

fn default_mount_path() -> String {
    DEFAULT_MOUNT_PATH.to_owned()
}

#[cfg(test)]
mod tests {
    use super::{DeletionPolicy, Storage, Volume};

    #[test]
    fn every_shape_comes_down_to_one_volume() {
        let existing = Volume::Existing { claim: "c", mount_path: "/mnt/data" };
        for (yaml, volume) in [
            ("{}", Volume::Ephemeral),
            ("persistentVolumeClaim: c", existing),
            ("persistentVolume: {persistentVolumeClaim: c}", existing),
            ("{persistentVolumeClaim: c, mountPath: /m}", Volume::Existing { claim: "c", mount_path: "/m" }),
            (
                "persistentVolume: {persistentVolumeClaim: c, mountPath: /m}",
                Volume::Existing { claim: "c", mount_path: "/m" },
            ),
            (
                "{persistentVolume: {size: 1Gi, storageClassName: fast}, deletionPolicy: Delete}",
                Volume::Made {
                    size: "1Gi",
                    storage_class_name: Some("fast"),
                    mount_path: "/mnt/data",
                    deletion_policy: DeletionPolicy::Delete,
                },
            ),
        ] {
            let storage: Storage = serde_saphyr::from_str(yaml).unwrap();
            assert_eq!(storage.volume(), volume, "{yaml}");
        }
    }
}

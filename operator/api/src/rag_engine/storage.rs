use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::VectorDatabase;
use crate::rules::{OBJECT_NAME, mount_path};

/// Default mount path of the volume in the server's container.
pub const DEFAULT_MOUNT_PATH: &str = "/mnt/data";

/// Storage of the indexes.
#[derive(KubeSchema, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("!(has(self.persistentVolume) && has(self.persistentVolumeClaim))")
        .message(
            "storage must not have both persistentVolume and persistentVolumeClaim: write the claim's name into \
             persistentVolume.persistentVolumeClaim and remove storage.persistentVolumeClaim"
        ),
    validation = Rule::new("!has(self.mountPath) || has(self.persistentVolumeClaim)")
        .message(
            "storage.mountPath needs storage.persistentVolumeClaim: write the path into persistentVolume.mountPath"
        ),
)]
pub struct Storage {
    /// PersistentVolumeClaim that stores the indexes: an existing one, or one that the operator creates. With
    /// `vectorDB.engine: weaviate` or `qdrant` it has only downloaded models, and the engine can have one pod.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persistent_volume: Option<PersistentVolume>,
    /// Deprecated: use `persistentVolume.persistentVolumeClaim`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253), regex(pattern = OBJECT_NAME))]
    pub persistent_volume_claim: Option<String>,
    /// Deprecated: use `persistentVolume.mountPath`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    #[x_kube(validation = mount_path("storage.mountPath"))]
    pub mount_path: Option<String>,
    /// What keeps and searches documents and vectors. Default: the server itself, with FAISS.
    #[serde(rename = "vectorDB", default, skip_serializing_if = "Option::is_none")]
    pub vector_database: Option<VectorDatabase>,
    /// `Retain` keeps the claim that was created for `persistentVolume.size` when the RAGEngine is deleted; `Delete`
    /// deletes it with all indexes. Claims that you named are always kept. Default: `Retain`.
    #[serde(default)]
    pub deletion_policy: DeletionPolicy,
}

/// A PersistentVolumeClaim: an existing one, or one that the operator creates.
#[derive(KubeSchema, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("has(self.size) != has(self.persistentVolumeClaim)")
        .message(
            "storage.persistentVolume needs exactly one of size and persistentVolumeClaim: write size: 10Gi to create \
             a claim, or persistentVolumeClaim with the name of an existing claim"
        ),
    validation = Rule::new("!has(self.storageClassName) || has(self.size)").message(
        "storage.persistentVolume.storageClassName needs size: write size too, or remove storageClassName"
    ),
    validation = Rule::new(
        "!has(self.size) || !has(oldSelf.size) || \
         (has(self.storageClassName) ? self.storageClassName : '') == \
         (has(oldSelf.storageClassName) ? oldSelf.storageClassName : '')"
    )
    .message(
        "storage.persistentVolume.storageClassName cannot be changed, because Kubernetes cannot change the class of a \
         claim: create another RAGEngine with the new class"
    ),
)]
pub struct PersistentVolume {
    /// Size of the claim that the operator creates, such as `10Gi`; at least 1Mi. It can be increased later if the
    /// storage class allows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32))]
    #[x_kube(
        validation = Rule::new("isQuantity(self) && quantity(self).compareTo(quantity('1Mi')) >= 0")
            .message("storage.persistentVolume.size must be a quantity of at least 1Mi: for example 10Gi")
    )]
    pub size: Option<String>,
    /// Storage class of the claim that the operator creates. Immutable. Default: the default class of the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253), regex(pattern = OBJECT_NAME))]
    pub storage_class_name: Option<String>,
    /// Name of an existing claim in the same namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253), regex(pattern = OBJECT_NAME))]
    pub persistent_volume_claim: Option<String>,
    /// Mount path of the volume in the server's container. Default: `/mnt/data`.
    #[serde(default = "default_mount_path")]
    #[schemars(length(max = 256))]
    #[x_kube(validation = mount_path("storage.persistentVolume.mountPath"))]
    pub mount_path: String,
}

/// What happens to the claim that the operator created when the RAGEngine is deleted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum DeletionPolicy {
    /// The claim is kept. A new RAGEngine with the same name uses it again.
    #[default]
    Retain,
    /// The claim is deleted with all indexes.
    Delete,
}

/// The volume that a [`Storage`] describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Volume<'a> {
    /// Storage on the node that is deleted with the pod.
    Ephemeral,
    /// An existing claim.
    Existing {
        /// Name of the claim.
        claim: &'a str,
        /// Mount path in the server's container.
        mount_path: &'a str,
    },
    /// A claim that the operator creates.
    Provisioned {
        /// Size of the claim, a Kubernetes quantity.
        size: &'a str,
        /// Storage class; `None` is the default class of the cluster.
        storage_class_name: Option<&'a str>,
        /// Mount path in the server's container.
        mount_path: &'a str,
        /// What happens to the claim when the RAGEngine is deleted.
        deletion_policy: DeletionPolicy,
    },
}

impl Storage {
    /// The external vector database, if there is one.
    pub fn external_database(&self) -> Option<&VectorDatabase> {
        self.vector_database.as_ref().filter(|database| database.is_external())
    }

    /// The volume that the fields describe. The deprecated fields are equivalent to the new ones; combinations that the
    /// CEL rules reject are not checked again.
    pub fn volume(&self) -> Volume<'_> {
        let deprecated = self.persistent_volume_claim.as_deref().map(|claim| Volume::Existing {
            claim,
            mount_path: self.mount_path.as_deref().unwrap_or(DEFAULT_MOUNT_PATH),
        });
        let current = self.persistent_volume.as_ref().and_then(|volume| {
            let mount_path = volume.mount_path.as_str();
            match (&volume.persistent_volume_claim, &volume.size) {
                (Some(claim), _) => Some(Volume::Existing { claim, mount_path }),
                (None, Some(size)) => Some(Volume::Provisioned {
                    size,
                    storage_class_name: volume.storage_class_name.as_deref(),
                    mount_path,
                    deletion_policy: self.deletion_policy,
                }),
                (None, None) => None,
            }
        });
        current.or(deprecated).unwrap_or(Volume::Ephemeral)
    }
}

fn default_mount_path() -> String {
    DEFAULT_MOUNT_PATH.to_owned()
}

#[cfg(test)]
mod tests {
    use super::{DeletionPolicy, Storage, Volume};

    #[test]
    fn current_and_deprecated_fields_give_the_same_volume() {
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
                Volume::Provisioned {
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

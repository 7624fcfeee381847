use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::Resource as _;
use kube::api::ObjectMeta;
use ragengine_operator_api::Index;

use super::{COMPONENT, FIELD_MANAGER, INSTANCE, Kind, MANAGED_BY, NAME, Owner, PART_OF};

/// The value of the label `app.kubernetes.io/name` on objects of an Index. It differs from the value that an engine's
/// Service selects.
pub const SYNC: &str = "ragengine-sync";

/// The label of a Job with the id of its synchronisation.
pub const SYNC_ID: &str = "ragengine.dev/sync-id";

/// The label of a Job with the hash of the desired revision.
pub const WANTED: &str = "ragengine.dev/wanted";

/// The label of a Job with the id of the last synchronisation whose result was known when the Job was created. The
/// first Job has none.
pub const AFTER: &str = "ragengine.dev/after";

/// The label of a Job with the hash of the desired content, without schedule and index settings.
pub const SPECIFICATION: &str = "ragengine.dev/specification";

/// The label of a Job that deletes the documents of a deleted Index, with the uid of that Index.
pub const OWNER: &str = "ragengine.dev/owner";

/// The label of a Job's pod with the name of the RAGEngine that it writes to. Network policies can select by it.
pub const ENGINE: &str = "ragengine.dev/engine";

/// The component label of objects that delete the documents of a deleted Index.
pub const DELETION: &str = "deletion";

/// Identifies an Index.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct IndexIdentity {
    /// Its namespace.
    pub namespace: String,
    /// Its name, under which the engine records its sources.
    pub name: String,
    /// Its uid, which distinguishes it from another Index of the same name.
    pub uid: String,
}

impl IndexIdentity {
    /// The identity of an Index from the API server. Fields that a test leaves out become empty.
    pub fn of(index: &Index) -> Self {
        let metadata = index.metadata.clone();
        Self {
            namespace: metadata.namespace.unwrap_or_default(),
            name: metadata.name.unwrap_or_default(),
            uid: metadata.uid.unwrap_or_default(),
        }
    }

    /// The owner key: kind, namespace and name.
    pub fn owner(&self) -> Owner {
        Owner { kind: Kind::Index, namespace: self.namespace.clone(), name: self.name.clone() }
    }

    /// The labels of all its objects.
    pub fn labels(&self) -> BTreeMap<String, String> {
        labels(&self.name)
    }

    /// The metadata of an object that is deleted together with the Index.
    pub fn owned(&self, name: &str) -> ObjectMeta {
        ObjectMeta {
            name: Some(name.to_owned()),
            namespace: Some(self.namespace.clone()),
            labels: Some(self.labels()),
            owner_references: Some(vec![OwnerReference {
                api_version: Index::api_version(&()).into_owned(),
                kind: Index::kind(&()).into_owned(),
                name: self.name.clone(),
                uid: self.uid.clone(),
                controller: Some(true),
                block_owner_deletion: None,
            }]),
            ..ObjectMeta::default()
        }
    }

    /// Whether an object was created for this Index, and not for an earlier one of the same name.
    pub fn made(&self, metadata: &ObjectMeta) -> bool {
        let owners = metadata.owner_references.as_deref().unwrap_or_default();
        owners.iter().any(|owner| owner.controller == Some(true) && owner.uid == self.uid)
    }
}

/// The labels of all objects of an Index of this name.
pub(super) fn labels(index: &str) -> BTreeMap<String, String> {
    let labels =
        [(NAME, SYNC), (INSTANCE, index), (COMPONENT, "sync"), (PART_OF, "ragengine"), (MANAGED_BY, FIELD_MANAGER)];
    labels.map(|(label, value)| (label.to_owned(), value.to_owned())).into()
}

/// Whether an object deletes the documents of a deleted Index.
pub fn is_deletion(metadata: &ObjectMeta) -> bool {
    let component = metadata.labels.as_ref().and_then(|labels| labels.get(COMPONENT));
    component.is_some_and(|component| component == DELETION) && index_of(metadata).is_some()
}

/// The name of the Index that an object belongs to: from its owner reference, else from its labels (for pods).
pub fn index_of(metadata: &ObjectMeta) -> Option<&str> {
    let owners = metadata.owner_references.as_deref().unwrap_or_default();
    let owner = owners.iter().find(|owner| owner.controller == Some(true) && owner.kind == Index::kind(&()));
    let labelled = || {
        let labels = metadata.labels.as_ref()?;
        let has = |label: &str, value: &str| labels.get(label).is_some_and(|found| found == value);
        labels.get(INSTANCE).filter(|_| has(MANAGED_BY, FIELD_MANAGER) && has(NAME, SYNC)).map(String::as_str)
    };
    owner.map(|owner| owner.name.as_str()).or_else(labelled)
}

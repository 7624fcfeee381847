//! Names and labels of the operator's objects, and how they are found again.

mod index;

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::Resource as _;
use kube::api::ObjectMeta;
use ragengine_operator_api::{RagEngine, RagEngineSpec, Volume};

use crate::hash::hash;

pub use index::{
    AFTER, DELETION, ENGINE, IndexIdentity, OWNER, SPECIFICATION, SYNC, SYNC_ID, WANTED, index_of, is_deletion,
};

/// The field manager of the operator.
pub const FIELD_MANAGER: &str = "ragengine-operator";

/// The label selector of all objects that the operator creates.
pub const MADE_BY_US: &str = "app.kubernetes.io/managed-by=ragengine-operator";

/// The annotation with the hash of the applied object. It shows when a field is no longer desired.
pub const APPLIED_HASH: &str = "ragengine.dev/applied-hash";

/// The annotation of the ConfigMap for access control with the name of the cluster's issuer of tokens.
pub const TOKEN_ISSUER: &str = "ragengine.dev/token-issuer";

/// The annotation of a Secret that lists the only hosts it may be sent to, separated by commas.
pub const HOSTS_ANNOTATION: &str = "ragengine.dev/hosts";

/// The annotation of a Secret that contains the token of a ServiceAccount.
pub const SERVICE_ACCOUNT_ANNOTATION: &str = "kubernetes.io/service-account.name";

/// The name of the main container of a pod. `podTemplate` may refer to it.
pub const CONTAINER: &str = "ragengine";

/// The value of the label `app.kubernetes.io/name` on the Jobs and pods of backups. It differs from the value that an
/// engine's Service selects.
pub const BACKUP: &str = "ragengine-backup";

/// The label of a node that is made for one RAGEngine, and of its NodeClaim, with the uid of the RAGEngine.
pub const NODE_OF: &str = "ragengine.dev/node-of";

/// The label of these with the namespace of the RAGEngine.
const ENGINE_NAMESPACE: &str = "ragengine.dev/engine-namespace";

/// The most characters of a CronJob's name, to which the names of its Jobs add eleven.
const MAX_CRON_JOB_NAME: usize = 52;

const NAME: &str = "app.kubernetes.io/name";
const INSTANCE: &str = "app.kubernetes.io/instance";
const COMPONENT: &str = "app.kubernetes.io/component";
const PART_OF: &str = "app.kubernetes.io/part-of";
const MANAGED_BY: &str = "app.kubernetes.io/managed-by";

/// The kinds of resources that the operator reconciles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// A RAGEngine.
    Engine,
    /// An Index.
    Index,
}

/// The resource that an object belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Owner {
    /// Its kind.
    pub kind: Kind,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl Owner {
    /// The resources to reconcile when an object changes: its owner, and for a deletion Job also the Index of the same
    /// name, which waits for it.
    pub fn all_of(metadata: &ObjectMeta) -> Vec<Self> {
        let namespace = metadata.namespace.clone().unwrap_or_default();
        let owner = |kind, name: &str| Self { kind, namespace: namespace.clone(), name: name.to_owned() };
        let index = index_of(metadata).map(|name| owner(Kind::Index, name));
        let engine = engine_of(metadata).filter(|_| index.is_none() || is_deletion(metadata));
        index.into_iter().chain(engine.map(|name| owner(Kind::Engine, name))).collect()
    }
}

/// Identifies a RAGEngine.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Identity {
    /// Its namespace.
    pub namespace: String,
    /// Its name, which is also the name of its Deployment, Service and ServiceAccount.
    pub name: String,
    /// Its uid, which distinguishes it from another RAGEngine of the same name.
    pub uid: String,
}

impl Identity {
    /// The identity of a RAGEngine from the API server. Fields that a test leaves out become empty.
    pub fn of(engine: &RagEngine) -> Self {
        let metadata = engine.metadata.clone();
        Self {
            namespace: metadata.namespace.unwrap_or_default(),
            name: metadata.name.unwrap_or_default(),
            uid: metadata.uid.unwrap_or_default(),
        }
    }

    /// The owner key: kind, namespace and name.
    pub fn owner(&self) -> Owner {
        Owner { kind: Kind::Engine, namespace: self.namespace.clone(), name: self.name.clone() }
    }

    /// The name of the ConfigMap with the settings file.
    pub fn settings(&self) -> String {
        format!("{}-settings", self.name)
    }

    /// The name of the ConfigMap with the rules of indexes and the keys of the cluster's issuer.
    pub fn auth(&self) -> String {
        format!("{}-auth", self.name)
    }

    /// The name of the Secret with the write token.
    pub fn write_token(&self) -> String {
        format!("{}-write", self.name)
    }

    /// The name of the NetworkPolicy for the Jobs of its Indexes. The dot keeps it apart from the policy of any engine.
    pub fn sync_policy(&self) -> String {
        format!("{}.sync", self.name)
    }

    /// The name of the CronJob of backups, and of the ConfigMap with its task. A long name of an engine is cut, and gets a
    /// hash.
    pub fn backup(&self) -> String {
        let name = format!("{}-backup", self.name);
        if name.len() <= MAX_CRON_JOB_NAME {
            return name;
        }
        let (start, hash) = (self.name[..36].trim_end_matches('-'), hash(&self.name));
        format!("{start}.{}-backup", &hash[..7])
    }

    /// The labels of the Jobs and pods of its backups.
    pub fn backup_labels(&self) -> BTreeMap<String, String> {
        let mut labels = self.labels();
        labels.extend(
            [(NAME, BACKUP), (COMPONENT, "backup"), (OWNER, self.uid.as_str())]
                .map(|(label, value)| (label.to_owned(), value.to_owned())),
        );
        labels
    }

    /// Whether a Job or a pod belongs to a backup of this RAGEngine, and not of an earlier one of the same name.
    pub fn has_backup(&self, metadata: &ObjectMeta) -> bool {
        let is_its = metadata.labels.as_ref().and_then(|labels| labels.get(OWNER)).is_some_and(|uid| *uid == self.uid);
        is_its && is_backup(metadata) && metadata.namespace.as_ref() == Some(&self.namespace)
    }

    /// The name of the claim that the operator creates.
    pub fn claim(&self) -> String {
        format!("{}-data", self.name)
    }

    /// The name of the claim with the data, if there is one: created by the operator, or named in the specification.
    pub fn claim_of(&self, spec: &RagEngineSpec) -> Option<String> {
        match spec.storage.as_ref()?.volume() {
            Volume::Ephemeral => None,
            Volume::Existing { claim, .. } => Some(claim.to_owned()),
            Volume::Provisioned { .. } => Some(self.claim()),
        }
    }

    /// The labels of all its objects.
    pub fn labels(&self) -> BTreeMap<String, String> {
        let mut labels = self.selector();
        labels.extend(
            [(COMPONENT, "server"), (PART_OF, "ragengine"), (MANAGED_BY, FIELD_MANAGER)]
                .map(|(label, value)| (label.to_owned(), value.to_owned())),
        );
        labels
    }

    /// The labels that select its pods. They never change, because the selector of a Deployment is immutable.
    pub fn selector(&self) -> BTreeMap<String, String> {
        BTreeMap::from([(NAME.to_owned(), "ragengine".to_owned()), (INSTANCE.to_owned(), self.name.clone())])
    }

    /// The labels of its nodes and of their NodeClaims.
    pub fn node_labels(&self) -> BTreeMap<String, String> {
        [(NODE_OF, &self.uid), (ENGINE, &self.name), (ENGINE_NAMESPACE, &self.namespace)]
            .map(|(label, value)| (label.to_owned(), value.clone()))
            .into()
    }

    /// The RAGEngine that a NodeClaim was made for.
    pub fn of_node_claim(metadata: &ObjectMeta) -> Option<Self> {
        let label = |name: &str| metadata.labels.as_ref()?.get(name).cloned();
        Some(Self { namespace: label(ENGINE_NAMESPACE)?, name: label(ENGINE)?, uid: label(NODE_OF)? })
    }

    /// Whether a NodeClaim was made for it, and not for an earlier RAGEngine of the same name.
    pub fn made_node_claim(&self, metadata: &ObjectMeta) -> bool {
        metadata.labels.as_ref().and_then(|labels| labels.get(NODE_OF)).is_some_and(|uid| *uid == self.uid)
    }

    /// The selector as text, for the scale subresource.
    pub fn selector_text(&self) -> String {
        let labels: Vec<_> = self.selector().into_iter().map(|(label, value)| format!("{label}={value}")).collect();
        labels.join(",")
    }

    /// The metadata of an object that is deleted together with the RAGEngine.
    pub fn owned(&self, name: &str) -> ObjectMeta {
        ObjectMeta { owner_references: Some(vec![self.owner_reference()]), ..self.kept(name) }
    }

    /// The metadata of an object that outlives the RAGEngine.
    pub fn kept(&self, name: &str) -> ObjectMeta {
        ObjectMeta {
            name: Some(name.to_owned()),
            namespace: Some(self.namespace.clone()),
            labels: Some(self.labels()),
            ..ObjectMeta::default()
        }
    }

    /// The metadata of an object that deletes the documents of a deleted Index.
    pub fn deletion(&self, name: &str, index: &str) -> ObjectMeta {
        let component = (COMPONENT.to_owned(), DELETION.to_owned());
        let labels = index::labels(index).into_iter().chain([component]).collect();
        ObjectMeta { labels: Some(labels), ..self.owned(name) }
    }

    /// `blockOwnerDeletion` is not set, because no deletion needs to wait and setting it needs an extra permission on
    /// some clusters.
    fn owner_reference(&self) -> OwnerReference {
        OwnerReference {
            api_version: RagEngine::api_version(&()).into_owned(),
            kind: RagEngine::kind(&()).into_owned(),
            name: self.name.clone(),
            uid: self.uid.clone(),
            controller: Some(true),
            block_owner_deletion: None,
        }
    }

    /// Whether an object was created for it: the object's controller is this RAGEngine, or it has the labels and no
    /// controller (a claim that was kept).
    pub fn made(&self, metadata: &ObjectMeta) -> bool {
        let owners = metadata.owner_references.as_deref().unwrap_or_default();
        let has_labels = || {
            let labels = metadata.labels.as_ref();
            [(INSTANCE, self.name.as_str()), (MANAGED_BY, FIELD_MANAGER)]
                .iter()
                .all(|(label, value)| labels.and_then(|labels| labels.get(*label)).is_some_and(|found| found == value))
        };
        match owners.iter().find(|owner| owner.controller == Some(true)) {
            Some(owner) => owner.uid == self.uid || (owner.kind == "RAGEngine" && owner.name == self.name),
            None => has_labels(),
        }
    }
}

/// The name of the RAGEngine that an object belongs to: from its owner reference, which is reliable even if labels were
/// edited, else from its labels.
pub fn engine_of(metadata: &ObjectMeta) -> Option<&str> {
    let owners = metadata.owner_references.as_deref().unwrap_or_default();
    let owner = owners.iter().find(|owner| owner.controller == Some(true) && owner.kind == RagEngine::kind(&()));
    let labelled = || {
        let labels = metadata.labels.as_ref()?;
        let is_ours = labels.get(MANAGED_BY).is_some_and(|manager| manager == FIELD_MANAGER)
            && labels.get(NAME).is_none_or(|name| name != SYNC);
        labels.get(INSTANCE).filter(|_| is_ours).map(String::as_str)
    };
    owner.map(|owner| owner.name.as_str()).or_else(labelled)
}

/// Whether a Job or a pod belongs to a backup.
pub fn is_backup(metadata: &ObjectMeta) -> bool {
    metadata.labels.as_ref().and_then(|labels| labels.get(NAME)).is_some_and(|name| name == BACKUP)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cron_job_has_room_for_the_names_of_its_jobs() {
        let name = |name: &str| Identity { namespace: "n".into(), name: name.into(), uid: "u".into() }.backup();
        assert_eq!(name("docs"), "docs-backup");
        let (one, other) = ("a".repeat(50), format!("{}b", "a".repeat(49)));
        for long in [&one, &other, &format!("{}-{}", "a".repeat(35), "b".repeat(14)), &"a".repeat(45)] {
            assert!(name(long).len() <= 52, "{long}");
        }
        assert_ne!(name(&one), name(&other));
    }

    #[test]
    fn a_backup_belongs_to_one_engine() {
        let identity = Identity { namespace: "n".into(), name: "docs".into(), uid: "u".into() };
        let job = ObjectMeta { labels: Some(identity.backup_labels()), ..identity.kept("docs-backup-29000000") };
        assert!(identity.has_backup(&job) && !identity.has_backup(&identity.owned("docs")));
        assert_eq!(Owner::all_of(&job), [identity.owner()]);
        let newer = Identity { uid: "v".into(), ..identity };
        assert!(!newer.has_backup(&job));
    }

    #[test]
    fn an_object_whose_labels_were_edited_still_belongs_to_its_engine() {
        let identity = Identity { namespace: "n".into(), name: "docs".into(), uid: "u".into() };
        let (owned, kept) = (identity.owned("docs"), identity.kept("docs-data"));
        assert_eq!(engine_of(&owned), Some("docs"));
        assert_eq!(engine_of(&kept), Some("docs"));
        let edited = |metadata: ObjectMeta| ObjectMeta {
            labels: Some(BTreeMap::from([(INSTANCE.to_owned(), "other".to_owned())])),
            ..metadata
        };
        assert_eq!(engine_of(&edited(owned)), Some("docs"));
        assert_eq!(engine_of(&edited(kept)), None);
        // The owner of a pod is not a RAGEngine.
        let mut pod = identity.owned("docs-1");
        pod.owner_references.iter_mut().flatten().for_each(|owner| owner.kind = "ReplicaSet".to_owned());
        assert_eq!(engine_of(&pod), Some("docs"));
    }

    #[test]
    fn objects_of_an_index_do_not_belong_to_an_engine_of_the_same_name() {
        let index = IndexIdentity { namespace: "n".into(), name: "docs".into(), uid: "u".into() };
        let engine = Identity { namespace: "n".into(), name: "docs".into(), uid: "v".into() };
        let mut pod = index.owned("docs-sync-1-x");
        pod.owner_references.iter_mut().flatten().for_each(|owner| owner.kind = "Job".to_owned());
        for (metadata, owners) in [
            (index.owned("docs-sync"), vec![index.owner()]),
            (pod, vec![index.owner()]),
            (engine.owned("docs"), vec![engine.owner()]),
            (engine.kept("docs-data"), vec![engine.owner()]),
            (engine.deletion("docs-deletion", "docs"), vec![index.owner(), engine.owner()]),
        ] {
            assert_eq!(Owner::all_of(&metadata), owners, "{metadata:?}");
        }
        let is_selected =
            |labels: &BTreeMap<String, String>| engine.selector().iter().all(|(k, v)| labels.get(k) == Some(v));
        assert!(
            is_selected(&engine.labels()) && !is_selected(&index.labels()),
            "a Service must not select the pods of Jobs"
        );
        assert_eq!(Owner::all_of(&ObjectMeta::default()), []);
        let other = IndexIdentity { uid: "w".into(), ..index.clone() };
        assert!(index.made(&index.owned("a")) && !index.made(&other.owned("a")) && !index.made(&engine.kept("a")));
    }
}

use std::sync::Arc;

use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, PersistentVolumeClaim, Pod, Secret, Service, ServiceAccount};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use kube::Resource;
use kube::api::PartialObjectMeta;
use kube::runtime::reflector::{ObjectRef, Store};

use super::Filled;
use crate::job::{self, Stage};
use crate::names::{Identity, IndexIdentity, engine_of, index_of, is_deletion};

/// What a watch has seen of one kind of object.
#[derive(Clone)]
pub struct Cache<K: Resource<DynamicType = ()> + Clone + 'static>(Store<K>);

impl<K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Clone + 'static> Cache<K> {
    pub(super) fn new(store: Store<K>) -> Self {
        Self(store)
    }

    /// One object.
    pub fn get(&self, namespace: &str, name: &str) -> Option<Arc<K>> {
        self.0.get(&ObjectRef::new(name).within(namespace))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// What the watches of a scope have seen.
#[derive(Clone)]
pub struct Caches {
    /// Ours, with the settings.
    pub config_maps: Cache<ConfigMap>,
    /// Ours.
    pub service_accounts: Cache<ServiceAccount>,
    /// Ours.
    pub services: Cache<Service>,
    /// Ours.
    pub deployments: Cache<Deployment>,
    /// Ours.
    pub network_policies: Cache<NetworkPolicy>,
    /// Ours, without their specifications.
    pub jobs: Cache<Job>,
    /// Ours, without their specifications.
    pub pods: Cache<Pod>,
    /// Everybody's.
    pub claims: Cache<PersistentVolumeClaim>,
    /// Everybody's: names and versions, never what is in them.
    pub secrets: Cache<PartialObjectMeta<Secret>>,
    /// Everybody's: names and versions.
    pub config_map_versions: Cache<PartialObjectMeta<ConfigMap>>,
    /// Whether all of them, and those of the RAGEngines and Indexes, have been filled.
    pub filled: Filled,
}

impl Caches {
    /// Waits until everything has been seen once. Before that, what is not there may only not have been seen.
    pub async fn filled(&self) {
        self.filled.wait().await;
    }

    /// How many objects of ours there are, by kind.
    pub fn counts(&self) -> [(&'static str, usize); 7] {
        [
            ("ConfigMap", self.config_maps.len()),
            ("ServiceAccount", self.service_accounts.len()),
            ("Service", self.services.len()),
            ("Deployment", self.deployments.len()),
            ("NetworkPolicy", self.network_policies.len()),
            ("Job", self.jobs.len()),
            ("Pod", self.pods.len()),
        ]
    }

    /// The pods of one RAGEngine.
    pub fn pods_of(&self, identity: &Identity) -> Vec<Arc<Pod>> {
        self.pods.0.state_filter(|pod| {
            pod.metadata.namespace.as_ref() == Some(&identity.namespace)
                && engine_of(&pod.metadata) == Some(&identity.name)
        })
    }

    /// The Jobs of one Index.
    pub fn jobs_of(&self, identity: &IndexIdentity) -> Vec<Arc<Job>> {
        let in_namespace = |job: &Job| job.metadata.namespace.as_ref() == Some(&identity.namespace);
        self.jobs.0.state_filter(|job| in_namespace(job) && identity.made(&job.metadata))
    }

    /// How many Jobs of Indexes run: in all, and in one namespace.
    pub fn running_jobs(&self, namespace: &str) -> (usize, usize) {
        let running = self.jobs.0.state_filter(|job| job::stage(job) == Stage::Running);
        let here = running.iter().filter(|job| job.metadata.namespace.as_deref() == Some(namespace)).count();
        (running.len(), here)
    }

    /// The Jobs that delete documents of Indexes that are gone from one RAGEngine.
    pub fn deletions_from(&self, identity: &Identity) -> Vec<Arc<Job>> {
        self.jobs.0.state_filter(|job| {
            let metadata = &job.metadata;
            metadata.namespace.as_ref() == Some(&identity.namespace) && is_deletion(metadata) && identity.made(metadata)
        })
    }

    /// The Jobs that delete documents of Indexes of this name that are gone.
    pub fn deletions_of(&self, identity: &IndexIdentity) -> Vec<Arc<Job>> {
        self.jobs.0.state_filter(|job| {
            let metadata = &job.metadata;
            metadata.namespace.as_ref() == Some(&identity.namespace)
                && is_deletion(metadata)
                && index_of(metadata) == Some(&identity.name)
        })
    }

    /// The pods of the Jobs of one Index.
    pub fn pods_of_jobs(&self, identity: &IndexIdentity) -> Vec<Arc<Pod>> {
        self.pods_of_jobs_for(&identity.namespace, &identity.name)
    }

    /// The pods of the Jobs of Indexes of this name, whether they are there or gone.
    pub fn pods_of_jobs_for(&self, namespace: &str, index: &str) -> Vec<Arc<Pod>> {
        self.pods.0.state_filter(|pod| {
            pod.metadata.namespace.as_deref() == Some(namespace) && index_of(&pod.metadata) == Some(index)
        })
    }
}

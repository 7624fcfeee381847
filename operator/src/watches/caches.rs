use std::sync::Arc;

use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::api::batch::v1::{CronJob, Job};
use k8s_openapi::api::core::v1::{ConfigMap, PersistentVolumeClaim, Pod, Secret, Service, ServiceAccount};
use k8s_openapi::api::networking::v1::{Ingress, NetworkPolicy};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::Resource;
use kube::api::PartialObjectMeta;
use kube::runtime::reflector::{ObjectRef, Store};

use super::Filled;
use crate::gateway::HttpRoute;
use crate::job::{self, Stage};
use crate::names::{Identity, IndexIdentity, engine_of, index_of, is_backup, is_deletion};

/// The objects of one kind that a watch has seen.
#[derive(Clone)]
pub struct Cache<K: Resource<DynamicType = ()> + Clone + 'static>(Store<K>);

impl<K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Clone + 'static> Cache<K> {
    pub(super) fn new(store: Store<K>) -> Self {
        Self(store)
    }

    /// Returns an object by namespace and name.
    pub fn get(&self, namespace: &str, name: &str) -> Option<Arc<K>> {
        self.0.get(&ObjectRef::new(name).within(namespace))
    }

    /// The number of objects.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether the cache is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The caches of a scope.
#[derive(Clone)]
pub struct Caches {
    /// Created by the operator. Task files are dropped.
    pub config_maps: Cache<ConfigMap>,
    /// Created by the operator.
    pub service_accounts: Cache<ServiceAccount>,
    /// Created by the operator.
    pub services: Cache<Service>,
    /// Created by the operator.
    pub deployments: Cache<Deployment>,
    /// Created by the operator.
    pub network_policies: Cache<NetworkPolicy>,
    /// Created by the operator.
    pub ingresses: Cache<Ingress>,
    /// Created by the operator. None: the cluster has no Gateway API.
    pub http_routes: Option<Cache<HttpRoute>>,
    /// Created by the operator.
    pub autoscalers: Cache<HorizontalPodAutoscaler>,
    /// Created by the operator.
    pub disruption_budgets: Cache<PodDisruptionBudget>,
    /// Created by the operator.
    pub cron_jobs: Cache<CronJob>,
    /// Created by the operator, or by its CronJobs. Specifications are dropped.
    pub jobs: Cache<Job>,
    /// Created by the operator. Of the specifications only the names of the nodes are kept.
    pub pods: Cache<Pod>,
    /// All claims.
    pub claims: Cache<PersistentVolumeClaim>,
    /// All Secrets: metadata only, never the content.
    pub secrets: Cache<PartialObjectMeta<Secret>>,
    /// All ConfigMaps: names and versions only.
    pub config_map_versions: Cache<PartialObjectMeta<ConfigMap>>,
    /// Whether all caches are filled, including those of RAGEngines and Indexes.
    pub filled: Filled,
}

impl Caches {
    /// Waits until all caches are filled. Before that, a missing object may only not have been seen yet.
    pub async fn filled(&self) {
        self.filled.wait().await;
    }

    /// The number of the operator's objects, by kind.
    pub fn counts(&self) -> [(&'static str, usize); 12] {
        [
            ("ConfigMap", self.config_maps.len()),
            ("ServiceAccount", self.service_accounts.len()),
            ("Service", self.services.len()),
            ("Deployment", self.deployments.len()),
            ("NetworkPolicy", self.network_policies.len()),
            ("Ingress", self.ingresses.len()),
            ("HTTPRoute", self.http_routes.as_ref().map_or(0, Cache::len)),
            ("HorizontalPodAutoscaler", self.autoscalers.len()),
            ("PodDisruptionBudget", self.disruption_budgets.len()),
            ("CronJob", self.cron_jobs.len()),
            ("Job", self.jobs.len()),
            ("Pod", self.pods.len()),
        ]
    }

    /// The pods of the server of one RAGEngine.
    pub fn pods_of(&self, identity: &Identity) -> Vec<Arc<Pod>> {
        self.pods.0.state_filter(|pod| {
            pod.metadata.namespace.as_ref() == Some(&identity.namespace)
                && engine_of(&pod.metadata) == Some(&identity.name)
                && !is_backup(&pod.metadata)
        })
    }

    /// The Jobs of the backups of one RAGEngine.
    pub fn backups_of(&self, identity: &Identity) -> Vec<Arc<Job>> {
        self.jobs.0.state_filter(|job| identity.has_backup(&job.metadata))
    }

    /// The pods of these Jobs.
    pub fn pods_of_backups(&self, identity: &Identity) -> Vec<Arc<Pod>> {
        self.pods.0.state_filter(|pod| identity.has_backup(&pod.metadata))
    }

    /// The Jobs of one Index.
    pub fn jobs_of(&self, identity: &IndexIdentity) -> Vec<Arc<Job>> {
        let in_namespace = |job: &Job| job.metadata.namespace.as_ref() == Some(&identity.namespace);
        self.jobs.0.state_filter(|job| in_namespace(job) && identity.made(&job.metadata))
    }

    /// The number of running Jobs of Indexes: in total, and in one namespace.
    pub fn running_jobs(&self, namespace: &str) -> (usize, usize) {
        let running = self.jobs.0.state_filter(|job| job::stage(job) == Stage::Running && !is_backup(&job.metadata));
        let here = running.iter().filter(|job| job.metadata.namespace.as_deref() == Some(namespace)).count();
        (running.len(), here)
    }

    /// The Jobs that delete documents of deleted Indexes from one RAGEngine.
    pub fn deletions_from(&self, identity: &Identity) -> Vec<Arc<Job>> {
        self.jobs.0.state_filter(|job| {
            let metadata = &job.metadata;
            metadata.namespace.as_ref() == Some(&identity.namespace) && is_deletion(metadata) && identity.made(metadata)
        })
    }

    /// The Jobs that delete documents of deleted Indexes of this name.
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

    /// The pods of the Jobs of all Indexes of this name, existing or deleted.
    pub fn pods_of_jobs_for(&self, namespace: &str, index: &str) -> Vec<Arc<Pod>> {
        self.pods.0.state_filter(|pod| {
            pod.metadata.namespace.as_deref() == Some(namespace) && index_of(&pod.metadata) == Some(index)
        })
    }
}

//! What a reconcile reads about the backups of an engine.

use std::sync::Arc;

use k8s_openapi::api::batch::v1::{CronJob, Job};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use ragengine_operator_api::{BackupBucket, RagEngineSpec, Reason};

use super::validate::host;
use crate::finding::Finding;
use crate::job::{Stage, stage};
use crate::names::Identity;
use crate::watches::{Caches, Referred};
use crate::{pod, secret_use};

/// The objects of backups.
#[derive(Debug, Clone, Default)]
pub struct ObservedBackups {
    /// The ConfigMap with the task.
    pub task: Option<Arc<ConfigMap>>,
    /// The CronJob.
    pub cron_job: Option<Arc<CronJob>>,
    /// The Jobs that it created.
    pub jobs: Vec<Arc<Job>>,
    /// The pods of these Jobs.
    pub pods: Vec<Arc<Pod>>,
    /// Why no backup can be made, if so.
    pub obstacle: Option<Finding>,
}

impl ObservedBackups {
    /// The Jobs that have not ended, and the youngest pod of each.
    pub fn running(&self) -> impl Iterator<Item = (&Job, Option<&Pod>)> {
        let running = self.jobs.iter().filter(|job| stage(job) == Stage::Running);
        running.map(|job| (job.as_ref(), pod::of_job(&self.pods, job)))
    }
}

/// Reads the objects from the caches.
pub fn observe(caches: &Caches, spec: &RagEngineSpec, identity: &Identity) -> ObservedBackups {
    let (namespace, name) = (&identity.namespace, identity.backup());
    ObservedBackups {
        task: caches.config_maps.get(namespace, &name),
        cron_job: caches.cron_jobs.get(namespace, &name),
        jobs: caches.backups_of(identity),
        pods: caches.pods_of_backups(identity),
        obstacle: obstacle(caches, spec, namespace),
    }
}

/// The Secret and the claim of backups. The engine is reconciled when they change.
pub fn referred(spec: &RagEngineSpec) -> impl Iterator<Item = (Referred, String)> {
    let backup = spec.backup.as_ref();
    let secret = backup.and_then(|backup| backup.s3.as_ref()?.access_secret.clone());
    let claim = backup.and_then(|backup| Some(backup.persistent_volume_claim.as_ref()?.claim_name.clone()));
    let secret = secret.map(|secret| (Referred::Secret, secret));
    secret.into_iter().chain(claim.map(|claim| (Referred::Claim, claim)))
}

/// The host that the credentials of a bucket are sent to, with its port.
pub fn host_of(bucket: &BackupBucket) -> Option<String> {
    let amazon = || format!("https://s3.{}.amazonaws.com", bucket.region.as_deref().unwrap_or("us-east-1"));
    host(&bucket.endpoint.clone().unwrap_or_else(amazon))
}

fn obstacle(caches: &Caches, spec: &RagEngineSpec, namespace: &str) -> Option<Finding> {
    let backup = spec.backup.as_ref()?;
    if let Some(volume) = &backup.persistent_volume_claim {
        let is_missing = caches.claims.get(namespace, &volume.claim_name).is_none();
        let name = &volume.claim_name;
        return is_missing.then(|| {
            let message = format!(
                "backups are suspended: PersistentVolumeClaim {name} does not exist in this namespace: create it"
            );
            Finding::new(Reason::ClaimMissing, message)
        });
    }
    let bucket = backup.s3.as_ref()?;
    let name = bucket.access_secret.as_ref()?;
    let Some(secret) = caches.secrets.get(namespace, name) else {
        let message = format!("backups are suspended: Secret {name} does not exist in this namespace: create it");
        return Some(Finding::new(Reason::SecretMissing, message));
    };
    let in_pod = secret_use::refused_in_pod(&secret.metadata).map(str::to_owned);
    let why = in_pod.or_else(|| secret_use::refused_at(&secret.metadata, host_of(bucket).as_deref()))?;
    let message = format!("backups are suspended: Secret {name} must not be used: {why}. Use another Secret");
    Some(Finding::new(Reason::SecretRefused, message))
}

//! What a reconcile reads about the backups of an engine.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::batch::v1::{CronJob, Job};
use k8s_openapi::api::core::v1::{ConfigMap, ContainerStateTerminated, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use ragengine_operator_api::{BackupBucket, RagEngineSpec, Reason};
use ragengine_settings::backup::{BackupResult, NoBackup};

use super::validate::host;
use crate::finding::Finding;
use crate::job::{Stage, finished_at, stage};
use crate::names::{CONTAINER, Identity};
use crate::watches::{Caches, Referred};
use crate::{pod, secret_use};

/// After a Job has succeeded, the time until a pod of it that is not seen counts as deleted. Jobs and pods are watched
/// separately, so a pod that is there may be seen later than the success of its Job.
const PODS_ARE_SEEN_WITHIN: SignedDuration = SignedDuration::from_mins(2);

/// What is known about a Job that has succeeded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It made a backup. `None`: it does not say which one.
    Backup(Option<BackupResult>),
    /// It found nothing to back up.
    Nothing(NoBackup),
    /// Its pod is deleted, so nobody knows any more what it found.
    Gone,
    /// Its pod has not been seen since it ended.
    NotSeen,
}

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

    /// The Jobs that ended in this stage, and when. The last one comes last.
    pub fn ended(&self, wanted: Stage) -> Vec<(&Job, Time)> {
        let ended = self.jobs.iter().filter(|job| stage(job) == wanted);
        let mut ended: Vec<_> = ended.filter_map(|job| Some((job.as_ref(), finished_at(job)?))).collect();
        ended.sort_by_key(|(_, time)| time.0);
        ended
    }

    /// What is known about a Job that succeeded at this time.
    pub fn outcome(&self, job: &Job, ended: &Time, now: Timestamp) -> Outcome {
        let pod = pod::of_job(&self.pods, job);
        // A Job succeeds only if its last pod does. One that failed is an earlier one.
        match pod.and_then(termination).filter(|end| end.exit_code == 0) {
            Some(end) => said(end.message.as_deref().unwrap_or_default()),
            None if pod.is_some_and(pod::is_alive) || now.duration_since(ended.0) < PODS_ARE_SEEN_WITHIN => {
                Outcome::NotSeen
            }
            None => Outcome::Gone,
        }
    }

    /// The time until a pod that has not been seen counts as deleted.
    pub fn next_look(&self, now: Timestamp) -> Option<Duration> {
        let ended = self.ended(Stage::Complete).into_iter();
        let not_seen = ended.filter(|(job, ended)| self.outcome(job, ended, now) == Outcome::NotSeen);
        let left = |time: Time| PODS_ARE_SEEN_WITHIN.checked_sub(now.duration_since(time.0));
        not_seen.filter_map(|(_, time)| Duration::try_from(left(time)?).ok()).min()
    }
}

/// How the container of a pod ended, once it has.
pub fn termination(pod: &Pod) -> Option<&ContainerStateTerminated> {
    let container = pod::statuses(pod).find(|status| status.name == CONTAINER)?;
    container.state.as_ref()?.terminated.as_ref()
}

/// What the words of a Job mean that has succeeded.
fn said(words: &str) -> Outcome {
    let nothing = serde_json::from_str(words).map(Outcome::Nothing);
    nothing.unwrap_or_else(|_| Outcome::Backup(serde_json::from_str(words).ok()))
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

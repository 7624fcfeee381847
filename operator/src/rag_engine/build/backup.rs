//! The CronJob of backups, and the ConfigMap with its task.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::Path;

use k8s_openapi::api::batch::v1::{CronJob, CronJobSpec, JobSpec, JobTemplateSpec};
use k8s_openapi::api::core::v1::{
    Affinity, ConfigMap, Container, PersistentVolumeClaimVolumeSource, PodAffinity, PodAffinityTerm, PodSpec,
    PodTemplateSpec, ResourceRequirements, Volume,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use kube::api::ObjectMeta;
use ragengine_operator_api::{Backup, RagEngine};
use ragengine_settings::BackupPlace;
use ragengine_settings::backup::BackupTask;

use super::selector;
use crate::defaults::Defaults;
use crate::error::BuildError;
use crate::names::CONTAINER;
use crate::pod_parts::{container_security, pod_security};
use crate::rag_engine::observe::Observed;
use crate::rag_engine::pod::restored_claim;
use crate::rag_engine::settings::{bucket_place, volume_place};
use crate::rag_engine::validate::Validated;
use crate::scheme::service_url;
use crate::sync_job::inherited::{placed, proxies};
use crate::sync_job::mount::{BUCKET_KEYS, Mount, config_map, of_server, optional_keys};
use crate::sync_job::task::{authority_files, write_token};
use crate::sync_job::{CREDENTIALS_FOLDER, TASK_FILE, TASK_FOLDER};

/// The folder where a volume for backups is mounted.
const BACKUPS_FOLDER: &str = "/backups";
/// The time limit of a backup, in seconds.
const DEADLINE_S: i64 = 6 * 3600;
/// How late a backup may start, in seconds, such as after an outage.
const LATEST_START_S: i64 = 3600;
/// When a scheduled backup has ended at the latest, in seconds after its scheduled time.
pub const LATEST_END_S: i64 = LATEST_START_S + DEADLINE_S;
/// How often a failed backup is tried again before the next scheduled one.
const RETRIES: i32 = 2;
/// How many Jobs are kept: their pods have the results and the logs.
const KEPT_JOBS: (i32, i32) = (1, 3);
/// Time for removing an unfinished upload, in seconds.
const GRACE_PERIOD_S: i64 = 30;

/// The CronJob and its task, if the specification asks for backups.
///
/// # Errors
///
/// [`BuildError`] when the task cannot be serialised. No cause is known.
pub(super) fn backup(
    validated: &Validated,
    observed: &Observed,
    defaults: &Defaults,
) -> Result<(Option<ConfigMap>, Option<CronJob>), BuildError> {
    let Some(backup) = &validated.spec.backup else { return Ok((None, None)) };
    let identity = &validated.identity;
    let mut engine = RagEngine::new(&identity.name, validated.spec.clone());
    engine.metadata.namespace = Some(identity.namespace.clone());
    let data =
        BTreeMap::from([(TASK_FILE.to_owned(), serde_saphyr::to_string(&task(validated, backup, &engine, defaults))?)]);
    let metadata = identity.owned(&identity.backup());
    let task = ConfigMap { metadata: metadata.clone(), data: Some(data), ..ConfigMap::default() };
    // A server that is stopped cannot be asked.
    let is_suspended = backup.suspend || validated.spec.replicas == 0 || observed.backups.obstacle.is_some();
    let cron_job = CronJob {
        metadata,
        spec: Some(CronJobSpec {
            schedule: backup.schedule.clone(),
            time_zone: Some("Etc/UTC".to_owned()),
            suspend: Some(is_suspended),
            concurrency_policy: Some("Forbid".to_owned()),
            starting_deadline_seconds: Some(LATEST_START_S),
            successful_jobs_history_limit: Some(KEPT_JOBS.0),
            failed_jobs_history_limit: Some(KEPT_JOBS.1),
            job_template: JobTemplateSpec {
                metadata: Some(ObjectMeta { labels: Some(identity.backup_labels()), ..ObjectMeta::default() }),
                spec: Some(job(validated, backup, &engine, defaults)),
            },
        }),
        status: None,
    };
    Ok((Some(task), Some(cron_job)))
}

fn task(validated: &Validated, backup: &Backup, engine: &RagEngine, defaults: &Defaults) -> BackupTask {
    let identity = &validated.identity;
    let place = match (&backup.s3, &backup.persistent_volume_claim) {
        (Some(bucket), _) => bucket_place(bucket, identity, Path::new(CREDENTIALS_FOLDER)),
        (None, Some(volume)) => volume_place(volume, identity, Path::new(BACKUPS_FOLDER)),
        // The CRD refuses this.
        (None, None) => BackupPlace::default(),
    };
    BackupTask {
        server: service_url(engine, defaults),
        server_ca_files: authority_files(engine),
        write_token: write_token(engine),
        writer: identity.uid.clone(),
        place,
        keep: NonZeroU32::new(backup.keep).unwrap_or(NonZeroU32::MIN),
        allowed_ranges: Vec::new(),
        // The file whose content Kubernetes copies into the status of the pod.
        result_file: Some("/dev/termination-log".into()),
    }
}

fn job(validated: &Validated, backup: &Backup, engine: &RagEngine, defaults: &Defaults) -> JobSpec {
    let mounts = mounts(validated, backup, engine);
    let image = &validated.spec.image;
    let amounts = |amounts: &[(&str, &str)]| {
        amounts.iter().map(|(what, amount)| ((*what).to_owned(), Quantity((*amount).to_owned()))).collect()
    };
    let environment = proxies(engine);
    let container = Container {
        name: CONTAINER.to_owned(),
        image: Some(defaults.server_image.of_engine(image)),
        image_pull_policy: Some(image.pull_policy.as_str().to_owned()),
        args: Some(vec!["backup".to_owned(), "--task".to_owned(), format!("{TASK_FOLDER}/{TASK_FILE}")]),
        env: (!environment.is_empty()).then_some(environment),
        resources: Some(ResourceRequirements {
            requests: Some(amounts(&[("cpu", "50m"), ("memory", "64Mi")])),
            limits: Some(amounts(&[("memory", "512Mi")])),
            ..ResourceRequirements::default()
        }),
        security_context: Some(container_security()),
        termination_message_policy: Some("FallbackToLogsOnError".to_owned()),
        volume_mounts: Some(mounts.iter().map(Mount::in_container).collect()),
        ..Container::default()
    };
    JobSpec {
        active_deadline_seconds: Some(DEADLINE_S),
        backoff_limit: Some(RETRIES),
        template: PodTemplateSpec {
            metadata: Some(ObjectMeta { labels: Some(validated.identity.backup_labels()), ..ObjectMeta::default() }),
            spec: Some(PodSpec {
                automount_service_account_token: Some(false),
                containers: vec![container],
                enable_service_links: Some(false),
                restart_policy: Some("Never".to_owned()),
                security_context: Some(pod_security(defaults.pod_user)),
                termination_grace_period_seconds: Some(GRACE_PERIOD_S),
                volumes: Some(mounts.into_iter().map(|mount| mount.volume).collect()),
                affinity: shares_a_claim(validated, backup).then(|| beside_the_server(validated)),
                ..placed(engine, defaults)
            }),
        },
        ..JobSpec::default()
    }
}

/// Whether the server's pod mounts the claim of the backups too. Only pods of one node can mount a `ReadWriteOnce` volume
/// at the same time.
fn shares_a_claim(validated: &Validated, backup: &Backup) -> bool {
    let of_server = [restored_claim(&validated.spec), validated.identity.claim_of(&validated.spec)];
    let claim = backup.persistent_volume_claim.as_ref().map(|volume| &volume.claim_name);
    claim.is_some_and(|claim| of_server.iter().flatten().any(|found| found == claim))
}

/// On the node of the server's pod.
fn beside_the_server(validated: &Validated) -> Affinity {
    let beside = PodAffinityTerm {
        label_selector: Some(selector(&validated.identity)),
        topology_key: "kubernetes.io/hostname".to_owned(),
        ..PodAffinityTerm::default()
    };
    Affinity {
        pod_affinity: Some(PodAffinity {
            required_during_scheduling_ignored_during_execution: Some(vec![beside]),
            ..PodAffinity::default()
        }),
        ..Affinity::default()
    }
}

fn mounts(validated: &Validated, backup: &Backup, engine: &RagEngine) -> Vec<Mount> {
    let task = config_map("task", &validated.identity.backup(), Some(TASK_FILE));
    let keys = backup.s3.as_ref().and_then(|bucket| bucket.access_secret.as_deref()).map(|secret| {
        Mount::read_only(optional_keys("backup-keys", secret, &BUCKET_KEYS), CREDENTIALS_FOLDER.to_owned())
    });
    let volume = backup.persistent_volume_claim.as_ref().map(|volume| Mount {
        volume: Volume {
            name: "backups".to_owned(),
            persistent_volume_claim: Some(PersistentVolumeClaimVolumeSource {
                claim_name: volume.claim_name.clone(),
                read_only: None,
            }),
            ..Volume::default()
        },
        path: BACKUPS_FOLDER.to_owned(),
        is_read_only: None,
    });
    let task = Mount::read_only(task, TASK_FOLDER.to_owned());
    [task].into_iter().chain(of_server(engine)).chain(keys).chain(volume).collect()
}

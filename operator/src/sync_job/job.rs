//! Builds a Job from its ingredients.

use std::collections::BTreeMap;
use std::net::IpAddr;

use k8s_openapi::api::batch::v1::{Job, JobSpec};
use k8s_openapi::api::core::v1::{
    Container, EmptyDirVolumeSource, EnvVar, PersistentVolumeClaimVolumeSource, PodSpec, PodTemplateSpec,
    ResourceRequirements, Volume,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use kube::api::ObjectMeta;
use ragengine_client::wire::SourceOwner;
use ragengine_operator_api::{self as api, IndexSource, RagEngine, SyncResources};

use super::inherited::{placed, proxies};
use super::mount::{BUCKET_KEYS, Mount, config_map, of_server, optional_keys};
use super::task::{CREDENTIALS_FOLDER, SOURCES_FOLDER, TASK_FILE, TASK_FOLDER};
use crate::defaults::Defaults;
use crate::names::{CONTAINER, ENGINE, Identity};
use crate::pod_parts::{container_security, pod_security};

/// The time limit of a synchronisation, in seconds.
const DEADLINE_S: i64 = 6 * 3600;
/// How long a finished Job is kept, in seconds. Its result is in the status by then.
const KEPT_S: i32 = 3600;
/// The grace period of the pod in seconds.
const GRACE_PERIOD_S: i64 = 30;
/// The maximum size of temporary files on the node: repositories, and files that are being read.
const MAX_WORK_FOLDER: &str = "4Gi";
const WORK_FOLDER: &str = "/tmp";

/// The ingredients of a Job.
pub struct Ingredients<'a> {
    /// The metadata of the Job.
    pub metadata: ObjectMeta,
    /// The labels of its pod.
    pub pod_labels: BTreeMap<String, String>,
    /// The engine whose image the Job runs and whose server it writes to.
    pub engine: &'a RagEngine,
    /// The sources to mount volumes and Secrets for.
    pub sources: &'a [IndexSource],
    /// The resources of the container.
    pub resources: SyncResources,
    /// The id of the synchronisation.
    pub sync_id: &'a str,
    /// The owner that the engine records for the sources, if any.
    pub owner: Option<SourceOwner>,
    /// The addresses of the API server, which no source may use.
    pub api_server: &'a [IpAddr],
}

/// Builds a Job with one pod that is not restarted: a retry is another Job. `task` is the name of the ConfigMap with
/// its task.
pub fn job(ingredients: Ingredients<'_>, task: &str, defaults: &Defaults) -> Job {
    let mounts = mounts(task, ingredients.engine, ingredients.sources);
    let container = container(&ingredients, &mounts, defaults);
    let mut pod_labels = ingredients.pod_labels;
    pod_labels.insert(ENGINE.to_owned(), Identity::of(ingredients.engine).name);
    Job {
        metadata: ingredients.metadata,
        spec: Some(JobSpec {
            active_deadline_seconds: Some(DEADLINE_S),
            backoff_limit: Some(0),
            ttl_seconds_after_finished: Some(KEPT_S),
            template: PodTemplateSpec {
                metadata: Some(ObjectMeta { labels: Some(pod_labels), ..ObjectMeta::default() }),
                spec: Some(PodSpec {
                    automount_service_account_token: Some(false),
                    containers: vec![container],
                    enable_service_links: Some(false),
                    restart_policy: Some("Never".to_owned()),
                    security_context: Some(pod_security(defaults.pod_user)),
                    termination_grace_period_seconds: Some(GRACE_PERIOD_S),
                    volumes: Some(mounts.into_iter().map(|mount| mount.volume).collect()),
                    ..placed(ingredients.engine, defaults)
                }),
            },
            ..JobSpec::default()
        }),
        status: None,
    }
}

fn container(ingredients: &Ingredients<'_>, mounts: &[Mount], defaults: &Defaults) -> Container {
    let SyncResources { requests, limits } = ingredients.resources.clone();
    let image_of = &ingredients.engine.spec.image;
    Container {
        name: CONTAINER.to_owned(),
        image: Some(defaults.server_image.of_engine(image_of)),
        image_pull_policy: Some(image_of.pull_policy.as_str().to_owned()),
        args: Some(vec!["sync".to_owned(), "--task".to_owned(), format!("{TASK_FOLDER}/{TASK_FILE}")]),
        env: Some(environment(ingredients)),
        resources: Some(ResourceRequirements {
            requests: Some(requests.0),
            limits: Some(limits.0),
            ..ResourceRequirements::default()
        }),
        security_context: Some(container_security()),
        termination_message_policy: Some("FallbackToLogsOnError".to_owned()),
        volume_mounts: Some(mounts.iter().map(Mount::in_container).collect()),
        ..Container::default()
    }
}

/// Passed as environment variables because an older image ignores unknown variables, but rejects unknown arguments and
/// fields of the task.
fn environment(ingredients: &Ingredients<'_>) -> Vec<EnvVar> {
    let owner = ingredients.owner.as_ref();
    let api_server = ingredients.api_server.iter().map(IpAddr::to_string).collect::<Vec<_>>().join(",");
    let when_gone = |owner: &SourceOwner| if owner.when_gone.is_delete() { "delete" } else { "retain" };
    let variables = [
        ("TMPDIR", Some(WORK_FOLDER)),
        ("RAGENGINE_MOUNTS_FOLDER", Some(SOURCES_FOLDER)),
        ("RAGENGINE_SYNC_ID", Some(ingredients.sync_id)),
        ("RAGENGINE_OWNER_UID", owner.map(|owner| owner.uid.as_str())),
        ("RAGENGINE_OWNER_SCOPE", owner.map(|owner| owner.scope.as_str())),
        ("RAGENGINE_WHEN_OWNER_IS_GONE", owner.map(when_gone)),
        ("RAGENGINE_API_SERVER", Some(api_server.as_str()).filter(|addresses| !addresses.is_empty())),
    ];
    let variable = |(name, value): (&str, Option<&str>)| {
        Some(EnvVar { name: name.to_owned(), value: Some(value?.to_owned()), ..EnvVar::default() })
    };
    variables.into_iter().filter_map(variable).chain(proxies(ingredients.engine)).collect()
}

fn mounts(task: &str, engine: &RagEngine, sources: &[IndexSource]) -> Vec<Mount> {
    let work = Volume {
        name: "work".to_owned(),
        empty_dir: Some(EmptyDirVolumeSource {
            size_limit: Some(Quantity(MAX_WORK_FOLDER.to_owned())),
            ..EmptyDirVolumeSource::default()
        }),
        ..Volume::default()
    };
    let task = config_map("task", task, Some(TASK_FILE));
    let credentials = sources.iter().filter_map(|source| {
        let volume = credentials(source, source.access_secret()?);
        Some(Mount::read_only(volume, format!("{CREDENTIALS_FOLDER}/{}", source.name)))
    });
    let content = sources
        .iter()
        .filter_map(|source| Some(Mount::read_only(content(source)?, format!("{SOURCES_FOLDER}/{}", source.name))));
    [
        Mount { volume: work, path: WORK_FOLDER.to_owned(), is_read_only: None },
        Mount::read_only(task, TASK_FOLDER.to_owned()),
    ]
    .into_iter()
    .chain(of_server(engine))
    .chain(credentials)
    .chain(content)
    .collect()
}

/// The volume with the known keys of a source's Secret. No other key is mounted.
fn credentials(source: &IndexSource, secret: &str) -> Volume {
    let keys: &[&str] = match source.origin() {
        Some(api::Origin::S3(_)) => &BUCKET_KEYS,
        _ => &["token", "username", "password", "ca.crt"],
    };
    optional_keys(&format!("credentials-{}", source.name), secret, keys)
}

/// The volume that contains the documents of a source, if any.
fn content(source: &IndexSource) -> Option<Volume> {
    let name = format!("source-{}", source.name);
    match source.origin()? {
        api::Origin::ConfigMap(found) => Some(config_map(&name, &found.name, None)),
        api::Origin::Volume(claim) => Some(Volume {
            name,
            persistent_volume_claim: Some(PersistentVolumeClaimVolumeSource {
                claim_name: claim.name.clone(),
                read_only: Some(true),
            }),
            ..Volume::default()
        }),
        api::Origin::Inline(_) | api::Origin::Http(_) | api::Origin::Git(_) | api::Origin::S3(_) => None,
    }
}

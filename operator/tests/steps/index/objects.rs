//! From YAML to the task and the Job.

use k8s_openapi::api::core::v1::PodSpec;
use proptest::prelude::*;
use ragengine_client::wire::OwnedSources;
use ragengine_operator::defaults::Defaults;
use ragengine_operator::index::build::{Synchronisation, synchronisation};
use ragengine_operator::index::desired_revision::DesiredRevision;
use ragengine_operator::index::observe::{Observed, ObservedReference};
use ragengine_operator::index::plan::Start;
use ragengine_operator::index::validate::validate;
use ragengine_operator::sync_job::{self, Desired};
use ragengine_operator::watches::Referred;
use ragengine_operator_api::Index;
use ragengine_settings::sync::{Origin, SyncTask};
use serde_json::{Value, json};

use super::fixture::{any_address, cached_engine, index, nine};
use crate::fixture::defaults;

const EVERYTHING: &str = include_str!("../../../api/tests/index/fixtures/everything.yaml");

fn everything() -> Index {
    let file: Value = serde_saphyr::from_str(EVERYTHING).unwrap();
    index(&file["spec"].to_string())
}

fn start() -> Start {
    Start {
        job_name: "handbook-sync-0123456".to_owned(),
        sync_id: "0123456789abcdef".to_owned(),
        after: Some("fedcba9876543210".to_owned()),
        desired_revision: DesiredRevision {
            wanted: "wanted".to_owned(),
            specification: "specification".to_owned(),
            legacy_specification: "before".to_owned(),
        },
        sync: Some("1".to_owned()),
        confirm_delete: Some("site@0123456789ab".to_owned()),
    }
}

fn built(index: &Index, engine: &str) -> Desired {
    built_with(index, engine, &defaults())
}

fn built_with(index: &Index, engine: &str, defaults: &Defaults) -> Desired {
    built_from(index, engine, vec![reference(Referred::Secret, "git", &["git.example.com"])], defaults)
}

/// An object that exists, with the hosts of its annotation.
fn reference(kind: Referred, name: &str, hosts: &[&str]) -> ObservedReference {
    ObservedReference {
        what: format!("{kind:?} {name}"),
        kind,
        version: Some("1".to_owned()),
        name: name.to_owned(),
        refusal: None,
        hosts: Some(hosts.iter().map(ToString::to_string).collect()),
        is_watched: true,
    }
}

fn built_from(index: &Index, engine: &str, references: Vec<ObservedReference>, defaults: &Defaults) -> Desired {
    let validated = validate(index, &any_address(), nine()).unwrap();
    let engine = cached_engine(engine);
    let observed = Observed {
        references,
        scope: "uid-of-the-claim".to_owned(),
        api_server: vec!["10.0.0.7".parse().unwrap(), "fd00::7".parse().unwrap()],
        ..Observed::default()
    };
    let (validated, start) = (Some(&validated), start());
    let input = Synchronisation { index, validated, engine: &engine, observed: &observed, start: &start };
    synchronisation(input, defaults).unwrap()
}

/// The pods of every kind of Job, for an engine with this spec.
pub fn pods_of_jobs(engine: &str, defaults: &Defaults) -> Vec<(&'static str, PodSpec)> {
    let synchronisation = built_with(&everything(), engine, defaults);
    vec![("synchronisation", pod(&synchronisation)), ("deletion", pod(&deletion_with(engine, defaults)))]
}

/// The Job that deletes the documents of the deleted Index `handbook`.
fn deletion(engine: &str) -> Desired {
    deletion_with(engine, &defaults())
}

fn deletion_with(engine: &str, defaults: &Defaults) -> Desired {
    let owner = OwnedSources {
        index: "shared".to_owned(),
        name: "handbook".to_owned(),
        uid: "uid-of-the-index".to_owned(),
        scope: "uid-of-the-claim".to_owned(),
    };
    sync_job::deletion(&cached_engine(engine), &owner, "handbook-gone-0123456", "0123456789abcdef", defaults).unwrap()
}

fn task(desired: &Desired) -> SyncTask {
    serde_saphyr::from_str(&desired.task.data.as_ref().unwrap()["task.yaml"]).unwrap()
}

#[test]
fn the_objects_of_a_synchronisation_and_a_deletion() {
    let engine = "
        image: {repository: registry.example.com/ragengine, tag: v1, pullPolicy: Always}
        compute: {labelSelector: {matchLabels: {pool: rag}}}
        podTemplate: {spec: {
            imagePullSecrets: [{name: registry}], tolerations: [{key: rag, operator: Exists}], nodeSelector: {zone: a},
            priorityClassName: high, runtimeClassName: gvisor,
            containers: [{name: other, env: [{name: HTTP_PROXY, value: 'http://other:3128'}]}, {name: ragengine, env: [
                {name: HTTPS_PROXY, value: 'http://proxy.example:3128'}, {name: no_proxy, value: '.svc,.cluster.local'},
                {name: HTTP_PROXY, valueFrom: {secretKeyRef: {name: proxy, key: url}}}, {name: RUST_LOG, value: debug},
            ]}],
        }}
    ";
    let objects = |desired: &Desired| {
        json!({
            "task": task(desired), "taskMetadata": desired.task.metadata, "immutable": desired.task.immutable,
            "job": desired.job,
        })
    };
    insta::assert_yaml_snapshot!("everything", objects(&built(&everything(), engine)));
    insta::assert_yaml_snapshot!("deletion", objects(&deletion(engine)));
    insta::assert_yaml_snapshot!("inline_only", objects(&built(&index("{}"), "{auth: {writes: open}}")));
}

fn pod(desired: &Desired) -> PodSpec {
    desired.job.spec.clone().unwrap().template.spec.unwrap()
}

#[test]
fn the_pod_is_restricted_and_has_only_the_secrets_it_needs() {
    let all: &[&str] = &["docs-write", "site", "git", "s3"];
    for (desired, expected) in [(built(&everything(), "{}"), all), (deletion("{}"), &["docs-write"])] {
        let pod = pod(&desired);
        assert_eq!(pod.automount_service_account_token, Some(false));
        assert_eq!(pod.service_account_name, None);
        let security = pod.security_context.unwrap();
        assert_eq!((security.run_as_non_root, security.run_as_user), (Some(true), Some(65532)));
        assert_eq!(security.seccomp_profile.unwrap().type_, "RuntimeDefault");
        let [container] = pod.containers.as_slice() else { panic!("one container") };
        let security = container.security_context.clone().unwrap();
        assert_eq!(security.allow_privilege_escalation, Some(false));
        assert_eq!(security.read_only_root_filesystem, Some(true));
        assert_eq!(security.capabilities.unwrap().drop, Some(vec!["ALL".to_owned()]));
        let secrets: Vec<String> =
            pod.volumes.iter().flatten().filter_map(|volume| volume.secret.clone()?.secret_name).collect();
        assert_eq!(secrets, expected, "a Secret is mounted only where it is needed");
        for mount in container.volume_mounts.iter().flatten() {
            assert!(mount.read_only == Some(true) || mount.mount_path == "/tmp", "{}", mount.mount_path);
        }
        assert!(pod.volumes.unwrap().iter().all(|volume| volume.host_path.is_none()));
    }
}

/// Every path in the task must be mounted in the pod.
#[test]
fn every_path_of_the_task_is_mounted() {
    let desired = built(&everything(), "{}");
    let pod = pod(&desired);
    let mounts: Vec<_> = pod.containers[0].volume_mounts.clone().unwrap();
    let is_mounted = |path: &std::path::Path| mounts.iter().any(|mount| path.starts_with(&mount.mount_path));
    let task = task(&desired);
    let ragengine_settings::SecretReference::File(token) = task.write_token.unwrap() else { panic!("a file") };
    assert!(is_mounted(&token) && is_mounted("/etc/ragengine/task/task.yaml".as_ref()));
    assert_eq!(
        pod.containers[0].args,
        Some(["sync", "--task", "/etc/ragengine/task/task.yaml"].map(String::from).to_vec())
    );
    for source in task.sources {
        let path = match source.origin {
            Origin::Folder(folder) | Origin::ConfigMap(folder) => folder.path,
            Origin::Http(http) => http.credentials.unwrap(),
            Origin::Git(git) => git.credentials.unwrap(),
            Origin::S3(s3) => s3.credentials.unwrap(),
            Origin::Inline(_) => continue,
        };
        assert!(is_mounted(&path), "{}: {}", source.name, path.display());
    }
}

#[test]
fn a_secret_is_sent_only_to_its_own_hosts() {
    let index = index("sources: [{name: a, git: {url: 'https://git.example.com/a', accessSecret: git}}]");
    let others = [reference(Referred::ConfigMap, "git", &["a"]), reference(Referred::Secret, "site", &["b"])];
    for (hosts, sent) in [(&["git.example.com"][..], &["git.example.com"][..]), (&[], &["nowhere.invalid"])] {
        let references = others.iter().cloned().chain([reference(Referred::Secret, "git", hosts)]).collect();
        let task = task(&built_from(&index, "{}", references, &defaults()));
        let Origin::Git(git) = &task.sources[0].origin else { panic!("git") };
        assert_eq!(git.credential_hosts, sent);
    }
}

/// Volume names have at most 63 characters.
#[test]
fn the_longest_names_fit() {
    let longest = "a".repeat(50);
    let mut index =
        index(&format!("sources: [{{name: {}, git: {{url: 'https://g/a', accessSecret: s}}}}]", "s".repeat(40)));
    index.metadata.name = Some(longest);
    let pod = pod(&built(&index, "{}"));
    assert!(pod.volumes.unwrap().iter().all(|volume| volume.name.len() <= 63));
}

proptest! {
    /// The Job reads exactly the text of an inline document.
    #[test]
    fn inline_texts_arrive_unchanged(
        text in "(\\PC|[\\n\\r\\t '\"#:\\-|>%@`{}\\[\\],&*!?\u{7f}\u{85}\u{2028}]){0,40}",
    ) {
        let mut index = index("{}");
        index.spec.sources[0].inline.as_mut().unwrap().documents[0].text = text.clone();
        let task = task(&built(&index, "{}"));
        let Origin::Inline(inline) = &task.sources[0].origin else { panic!("inline") };
        prop_assert_eq!(&inline.documents[0].text, &text);
    }
}

#[test]
fn errors_beyond_the_crd_rules_are_reported() {
    let long = "x".repeat(250_000);
    let documents: Vec<String> = (0..4).map(|number| format!("{{path: '{number}', text: {long}}}")).collect();
    let too_much = format!("sources: [{{name: a, inline: {{documents: [{}]}}}}]", documents.join(", "));
    for (spec, words) in [
        ("schedule: '61 * * * *'", "schedule '61 * * * *'"),
        ("schedule: '0 0 31 2 *'", "never occurs"),
        ("vectorIndex: HNSW99", "HNSW99"),
        ("allowedRanges: [10.0.0.0/33]", "10.0.0.0/33"),
        ("sources: [{name: a}]", "sources a: no origin is set"),
        ("sources: [{name: a, configMap: {name: a}, metadata: {owner: {name: b}}}]", "metadata.owner"),
        ("sources: [{name: a, configMap: {name: a}, metadata: {tags: [[b]]}}]", "metadata.tags"),
        ("sources: [{name: a, inline: {documents: [{path: b, text: c}, {path: b, text: d}]}}]", "the same path"),
        (&too_much, "the limit is 900000"),
    ] {
        let wrong = validate(&index(spec), &any_address(), nine()).unwrap_err().0;
        assert!(wrong.len() == 1 && wrong[0].contains(words), "{words}: {wrong:?}");
    }
    let wide =
        validate(&index("allowedRanges: [10.0.0.0/8]"), &["10.1.0.0/16".parse().unwrap()], nine()).unwrap_err().0;
    assert!(wide.len() == 1 && wide[0].contains("--allowed-ranges 10.0.0.0/8"), "{wide:?}");
    assert!(validate(&index("allowedRanges: [10.1.2.0/24]"), &["10.1.0.0/16".parse().unwrap()], nine()).is_ok());
    let several = "{schedule: 'x y z a b', allowedRanges: [a]}";
    assert_eq!(
        validate(&index(several), &any_address(), nine()).unwrap_err().0.len(),
        2,
        "all errors are reported at once"
    );
}

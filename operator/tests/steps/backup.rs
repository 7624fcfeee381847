//! Backups: from the specification to the CronJob, and from its Jobs to the status.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use ragengine_operator::finding::Finding;
use ragengine_operator::rag_engine::backups::ObservedBackups;
use ragengine_operator::rag_engine::build::build;
use ragengine_operator::rag_engine::observe::Observed;
use ragengine_operator::rag_engine::status::{StatusInput, status};
use ragengine_operator_api::{
    BackupStatus, Condition, ConditionStatus, ConditionType, RagEngine, RagEngineStatus, Reason,
};
use serde_json::{Value, json};

use crate::api_server::pass;
use crate::controller::{A_WHILE, Controller, condition, server_with, status as status_on, until};
use crate::fixture::{all_there, built, defaults, engine, fixture, valid};

fn second(second: i64) -> Time {
    Time(Timestamp::from_second(second).unwrap())
}

const SPEC: &str = "{replicas: 1, backup: {schedule: '30 2 * * *', s3: {bucket: b, accessSecret: keys}}}";

#[test]
fn the_pod_of_a_backup_is_restricted_and_gets_no_secret_in_its_arguments() {
    for name in ["backup_bucket", "backup_volume"] {
        let cron_job = built(&fixture(name)).backup.unwrap().spec.unwrap();
        let pod = cron_job.job_template.spec.unwrap().template.spec.unwrap();
        assert_eq!(pod.automount_service_account_token, Some(false), "{name}");
        assert_eq!(pod.security_context.unwrap().run_as_non_root, Some(true), "{name}");
        let [container] = pod.containers.try_into().unwrap();
        assert_eq!(container.args.unwrap(), ["backup", "--task", "/etc/ragengine/task/task.yaml"], "{name}");
        let security = container.security_context.unwrap();
        assert_eq!(security.read_only_root_filesystem, Some(true), "{name}");
        assert_eq!(security.capabilities.unwrap().drop, Some(vec!["ALL".to_owned()]), "{name}");
    }
}

#[test]
fn a_backup_goes_through_the_proxy_of_the_server() {
    let environment = "[{name: HTTPS_PROXY, value: 'http://proxy.example:3128'}, {name: RUST_LOG, value: debug}]";
    let template = format!("podTemplate: {{spec: {{containers: [{{name: ragengine, env: {environment}}}]}}}}, backup");
    for (spec, expected) in [(SPEC.to_owned(), None), (SPEC.replace("backup", &template), Some("HTTPS_PROXY"))] {
        let cron_job = built(&engine(&spec)).backup.unwrap().spec.unwrap();
        let pod = cron_job.job_template.spec.unwrap().template.spec.unwrap();
        let names = pod.containers[0].env.iter().flatten().map(|variable| variable.name.as_str()).collect::<Vec<_>>();
        assert_eq!(names, Vec::from_iter(expected), "{spec}");
    }
}

/// A `ReadWriteOnce` volume can be mounted on one node at a time.
#[test]
fn a_backup_runs_beside_a_server_that_mounts_the_same_claim() {
    let of_claim = |claim: &str| format!("persistentVolumeClaim: {{claimName: {claim}}}");
    let backup = |claim: &str| format!("replicas: 1, backup: {{schedule: '30 2 * * *', {}}}", of_claim(claim));
    let bootstrap = |claim: &str| format!("bootstrap: {{restore: {{{}}}}}", of_claim(claim));
    for (spec, is_beside) in [
        (format!("{{{}}}", backup("a")), false),
        (format!("{{{}, {}}}", backup("a"), bootstrap("b")), false),
        (format!("{{{}, {}}}", backup("a"), bootstrap("a")), true),
        (format!("{{{}, storage: {{persistentVolumeClaim: a}}}}", backup("a")), true),
    ] {
        let cron_job = built(&engine(&spec)).backup.unwrap().spec.unwrap();
        let affinity = cron_job.job_template.spec.unwrap().template.spec.unwrap().affinity;
        let beside = affinity.map(|affinity| affinity.pod_affinity.unwrap());
        let terms = beside.map(|beside| beside.required_during_scheduling_ignored_during_execution.unwrap());
        let expected = is_beside.then(|| {
            json!([{
                "labelSelector": {"matchLabels": {
                    "app.kubernetes.io/instance": "docs", "app.kubernetes.io/name": "ragengine",
                }},
                "topologyKey": "kubernetes.io/hostname",
            }])
        });
        assert_eq!(terms.map(|terms| json!(terms)), expected, "{spec}");
    }
}

/// The server reads the task, so its fields are those of the server's crate.
#[test]
fn the_task_is_one_that_the_command_reads() {
    for name in ["backup_bucket", "backup_volume"] {
        let text = built(&fixture(name)).backup_task.unwrap().data.unwrap()["task.yaml"].clone();
        let task: ragengine_settings::backup::BackupTask = serde_saphyr::from_str(&text).unwrap();
        assert_eq!(task.place.check(), Ok(()), "{name}");
        assert_eq!(task.writer, "uid-of-the-engine");
    }
}

#[test]
fn no_backup_starts_while_it_could_not_succeed() {
    let is_suspended = |spec: &str, obstacle: Option<Finding>| {
        let validated = valid(&engine(spec));
        let backups = ObservedBackups { obstacle, ..ObservedBackups::default() };
        let observed = Observed { backups, ..all_there(&validated) };
        build(&validated, &observed, &defaults()).unwrap().backup.unwrap().spec.unwrap().suspend
    };
    let missing = Finding { reason: Reason::SecretMissing, message: "Secret keys does not exist".to_owned() };
    assert_eq!(is_suspended(SPEC, None), Some(false));
    assert_eq!(is_suspended(SPEC, Some(missing)), Some(true));
    assert_eq!(is_suspended(&SPEC.replace("replicas: 1", "replicas: 0"), None), Some(true));
    assert_eq!(is_suspended(&SPEC.replace("schedule", "suspend: true, schedule"), None), Some(true));
}

#[test]
fn a_schedule_that_never_occurs_or_that_kubernetes_refuses_is_invalid() {
    use ragengine_operator::rag_engine::validate::validate;

    for schedule in ["0 0 30 2 *", "61 * * * *", "a b c d e", "30 2 * * 7", "0 2 L * *", "0 2 * * 1#2"] {
        let engine = engine(&SPEC.replace("30 2 * * *", schedule));
        let invalid = validate(&engine, &defaults()).unwrap_err().to_string();
        assert!(invalid.starts_with("backup.schedule '"), "{invalid}");
    }
}

/// The CronJob gets them as they are written.
#[test]
fn a_schedule_that_kubernetes_accepts_is_valid() {
    for schedule in ["5/15 2 * * *", "30 2 ? * ?", "? ? * ? *", "0 2 1/7 * MON/2", "0 2 *,5 * *"] {
        let cron_job = built(&engine(&SPEC.replace("30 2 * * *", schedule))).backup.unwrap().spec.unwrap();
        assert_eq!(cron_job.schedule, schedule);
    }
}

/// A Job that ended at this second, and its pod with this message.
fn ended(name: &str, kind: &str, at: i64, message: Option<&str>) -> (Arc<Job>, Option<Arc<Pod>>) {
    let time = second(at).0.to_string();
    let condition = json!({"type": kind, "status": "True", "lastTransitionTime": time, "message": "too many failures"});
    let completion = if kind == "Complete" { json!(time) } else { Value::Null };
    let job = json!({
        "metadata": {"name": name, "uid": format!("uid-of-{name}")},
        "status": {"conditions": [condition], "completionTime": completion},
    });
    let pod = message.map(|message| {
        let terminated = json!({"terminated": {"exitCode": 0, "message": message}});
        let status = json!({
            "name": "ragengine", "image": "i", "imageID": "", "ready": false, "restartCount": 0, "state": terminated,
        });
        let owner = json!({"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": format!("uid-of-{name}")});
        let pod = json!({
            "metadata": {"name": format!("{name}-x"), "ownerReferences": [owner]},
            "status": {"containerStatuses": [status]},
        });
        Arc::new(serde_json::from_value(pod).unwrap())
    });
    (Arc::new(serde_json::from_value(job).unwrap()), pod)
}

/// The status of backups and their condition, after Jobs ended.
fn after(
    engine: &RagEngine,
    jobs: Vec<(Arc<Job>, Option<Arc<Pod>>)>,
    previous: Option<BackupStatus>,
) -> (BackupStatus, Condition, Condition) {
    let (jobs, pods): (Vec<_>, Vec<_>) = jobs.into_iter().unzip();
    let backups = ObservedBackups { jobs, pods: pods.into_iter().flatten().collect(), ..ObservedBackups::default() };
    let observed = Observed { backups, ..Observed::default() };
    let input = StatusInput {
        engine,
        invalid: None,
        refused: None,
        observed: &observed,
        remains: None,
        is_current: true,
        hold: None,
    };
    let previous = RagEngineStatus { backup: previous, ..RagEngineStatus::default() };
    let status = status(input, &previous, &defaults(), &second(1000));
    let of = |wanted| status.conditions.iter().find(|found| found.type_ == wanted).unwrap().clone();
    let (degraded, backup) = (of(ConditionType::Degraded), of(ConditionType::BackupSucceeded));
    (status.backup.unwrap(), backup, degraded)
}

const RESULT: &str = r#"{"name": "ragengine-1.tar", "bytes": 7, "indexes": 1, "documents": 2}"#;

#[test]
fn the_last_good_backup_is_in_the_status_and_outlives_its_pod() {
    let engine = engine(SPEC);
    let (status, condition, _) = after(&engine, Vec::new(), None);
    assert_eq!((status, condition.reason), (BackupStatus::default(), Reason::NoBackupYet));
    assert_eq!(condition.status, ConditionStatus::Unknown);

    let (good, condition, _) = after(&engine, vec![ended("one", "Complete", 10, Some(RESULT))], None);
    assert_eq!((good.name.as_deref(), good.bytes), (Some("ragengine-1.tar"), Some(7)));
    assert_eq!(good.last_successful_time, Some(second(10)));
    assert_eq!((condition.status, condition.reason), (ConditionStatus::True, Reason::BackupCompleted));

    // The pod is gone, and then the Job too.
    assert_eq!(after(&engine, vec![ended("one", "Complete", 10, None)], Some(good.clone())).0, good);
    assert_eq!(after(&engine, Vec::new(), Some(good.clone())).0, good);
    // A Job that ended before is seen later.
    assert_eq!(after(&engine, vec![ended("zero", "Complete", 5, None)], Some(good.clone())).0, good);
    // The name of an older backup is never shown as that of a newer one.
    let (newer, ..) = after(&engine, vec![ended("two", "Complete", 20, None)], Some(good.clone()));
    assert_eq!((newer.name.clone(), newer.last_successful_time.clone()), (None, Some(second(20))));
    // The pod is seen after the Job.
    let (named, ..) = after(&engine, vec![ended("two", "Complete", 20, Some(RESULT))], Some(newer));
    assert_eq!(named.name.as_deref(), Some("ragengine-1.tar"));
}

#[test]
fn a_failed_backup_degrades_the_engine_until_the_next_one_succeeds() {
    let engine = engine(SPEC);
    let failed = ended("two", "Failed", 20, Some("Error: cannot upload the backup: status 507\n"));
    let (status, condition, degraded) =
        after(&engine, vec![ended("one", "Complete", 10, Some(RESULT)), failed.clone()], None);
    assert_eq!((condition.status, condition.reason), (ConditionStatus::False, Reason::BackupFailed));
    assert!(condition.message.contains("status 507. The last good backup is ragengine-1.tar"), "{}", condition.message);
    assert_eq!(status.last_failure_time, Some(second(20)));
    assert_eq!((degraded.status, degraded.reason), (ConditionStatus::True, Reason::BackupFailed));

    let next = ended("three", "Failed", 30, Some("Error: no such bucket"));
    let next = after(&engine, vec![failed.clone(), next], Some(status.clone())).0;
    assert_eq!(next.last_failure_message.as_deref(), Some("Error: no such bucket"));
    assert_eq!(next.last_failure_time, Some(second(30)));
    // Its pod is gone.
    let gone = after(&engine, vec![ended("two", "Failed", 20, None)], Some(status.clone())).0;
    assert_eq!(gone.last_failure_message, status.last_failure_message);

    let (_, condition, _) = after(&engine, vec![ended("two", "Failed", 20, None)], None);
    assert!(condition.message.contains("too many failures. There is no good backup yet"), "{}", condition.message);
    let (later, condition, _) =
        after(&engine, vec![ended("three", "Complete", 30, Some(RESULT)), failed], Some(status));
    assert_eq!((condition.reason, later.last_failure_time), (Reason::BackupCompleted, Some(second(20))));
}

const NOTHING: &str = r#"{"reason": "there is no index yet"}"#;

#[test]
fn a_job_that_found_no_index_is_no_backup() {
    let engine = engine(SPEC);
    let (empty, condition, _) = after(&engine, vec![ended("one", "Complete", 10, Some(NOTHING))], None);
    let expected = BackupStatus { last_empty_time: Some(second(10)), ..BackupStatus::default() };
    assert_eq!((&empty, condition.status), (&expected, ConditionStatus::Unknown));
    assert_eq!(condition.message, "no backup has been made yet: there is no index yet");
    // Its pod is gone, and then the Job too.
    for jobs in [vec![ended("one", "Complete", 10, None)], Vec::new()] {
        let (status, condition, _) = after(&engine, jobs, Some(empty.clone()));
        assert_eq!((&status, condition.status), (&empty, ConditionStatus::Unknown));
        assert_eq!(condition.message, "no backup has been made yet: it found no index");
    }

    // An engine that lost its indexes keeps its last good backup in the status.
    let jobs = vec![ended("two", "Complete", 20, Some(NOTHING)), ended("one", "Complete", 10, Some(RESULT))];
    let good = after(&engine, vec![jobs[1].clone()], None).0;
    let lost = BackupStatus { last_empty_time: Some(second(20)), ..good.clone() };
    let gone = vec![ended("two", "Complete", 20, None), ended("one", "Complete", 10, None)];
    for (jobs, previous, why) in [
        (jobs.clone(), &good, "there is no index yet"),
        (jobs, &lost, "there is no index yet"),
        (gone, &lost, "it found no index"),
        (Vec::new(), &lost, "it found no index"),
    ] {
        let (status, condition, _) = after(&engine, jobs, Some(previous.clone()));
        assert_eq!((&status, condition.status, condition.reason), (&lost, ConditionStatus::False, Reason::NoBackupYet));
        let expected = format!("the last Job made no backup: {why}. The last good backup is ragengine-1.tar, of ");
        assert!(condition.message.starts_with(&expected), "{}", condition.message);
    }
    let (status, condition, _) = after(&engine, vec![ended("three", "Complete", 30, Some(RESULT))], Some(lost));
    assert_eq!((status.last_successful_time, condition.status), (Some(second(30)), ConditionStatus::True));
}

#[test]
fn a_failure_is_over_when_a_later_job_succeeds_without_an_index() {
    let jobs = vec![ended("one", "Failed", 10, None), ended("two", "Complete", 20, Some(NOTHING))];
    let (_, condition, degraded) = after(&engine(SPEC), jobs, None);
    assert_eq!((condition.reason, degraded.status), (Reason::NoBackupYet, ConditionStatus::False));
}

/// Jobs and pods are watched separately. The status is that of second 1000.
#[test]
fn a_job_whose_pod_has_not_been_seen_changes_nothing() {
    let engine = engine(SPEC);
    let good = after(&engine, vec![ended("one", "Complete", 10, Some(RESULT))], None).0;
    let edited = |edit: fn(&mut Value)| {
        let (job, pod) = ended("two", "Complete", 990, Some(RESULT));
        let mut pod = json!(*pod.unwrap());
        edit(&mut pod["status"]);
        (job, Some(Arc::new(serde_json::from_value::<Pod>(pod).unwrap())))
    };
    let running = edited(|status| status["containerStatuses"][0]["state"] = json!({"running": {}}));
    let earlier_try = edited(|status| {
        status["phase"] = json!("Failed");
        status["containerStatuses"][0]["state"]["terminated"]["exitCode"] = json!(1);
    });
    for job in [ended("two", "Complete", 990, None), running, earlier_try] {
        let (status, condition, _) = after(&engine, vec![job], Some(good.clone()));
        assert_eq!((&status, condition.status), (&good, ConditionStatus::True));
    }
    let seen = after(&engine, vec![ended("two", "Complete", 990, Some(NOTHING))], Some(good.clone())).0;
    assert_eq!((seen.last_empty_time, seen.name), (Some(second(990)), good.name));
}

#[test]
fn the_engine_is_looked_at_again_when_a_pod_counts_as_deleted() {
    for (at, message, expected) in
        [(990, None, Some(110)), (880, None, None), (990, Some(RESULT), None), (990, Some(NOTHING), None)]
    {
        let (job, pod) = ended("one", "Complete", at, message);
        let pods = pod.into_iter().collect();
        let backups = ObservedBackups { jobs: vec![job], pods, ..ObservedBackups::default() };
        let next = backups.next_look(second(1000).0);
        assert_eq!(next, expected.map(Duration::from_secs), "{at} {message:?}");
    }
}

#[test]
fn a_backup_whose_pod_cannot_start_degrades_the_engine() {
    let engine = engine(SPEC);
    let (ended, pod) = ended("one", "Complete", 10, Some(RESULT));
    let mut running = Arc::unwrap_or_clone(ended);
    running.status = None;
    let mut pod = Arc::unwrap_or_clone(pod.unwrap());
    pod.status = serde_json::from_value(json!({"phase": "Pending", "conditions": [{
        "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes are available.",
    }]}))
    .unwrap();
    let (_, backup, degraded) = after(&engine, vec![(Arc::new(running), Some(Arc::new(pod)))], None);
    assert_eq!((degraded.status, degraded.reason), (ConditionStatus::True, Reason::PodUnschedulable));
    assert!(degraded.message.starts_with("no node can run the pod of Job one: 0/3 nodes"), "{}", degraded.message);
    assert_eq!(backup.reason, Reason::NoBackupYet, "it has not ended");
}

#[test]
fn the_condition_says_whether_further_backups_are_suspended() {
    for (spec, suspended) in [
        (SPEC.to_owned(), ""),
        (
            SPEC.replace("schedule", "suspend: true, schedule"),
            ". Further backups are suspended, because backup.suspend is true",
        ),
        (SPEC.replace("replicas: 1", "replicas: 0"), ". Further backups are suspended, because replicas is 0"),
    ] {
        let jobs = vec![ended("one", "Complete", 10, Some(RESULT))];
        let (_, condition, _) = after(&engine(&spec), jobs, None);
        assert_eq!(condition.message, format!("the backup ragengine-1.tar is complete{suspended}"));
        let (_, condition, _) = after(&engine(&spec), Vec::new(), None);
        assert_eq!(condition.message, format!("no backup has been made yet{suspended}"));
    }
}

/// With the whole controller: the CronJob is made, follows its Secret, and its Jobs reach the status.
#[tokio::test(start_paused = true)]
async fn a_cron_job_follows_the_specification_and_its_jobs_reach_the_status() {
    let server = server_with(&engine(SPEC));
    let controller = Controller::start(&server);
    until("the CronJob", &server, || server.get("cronjobs", "docs-backup").is_some()).await;
    let suspended = || server.get("cronjobs", "docs-backup").map(|found| found["spec"]["suspend"].clone());
    pass(A_WHILE).await;
    assert_eq!(suspended(), Some(json!(true)), "its Secret does not exist");
    let reason = || condition(&server, "docs", ConditionType::BackupSucceeded).map(|found| found.reason);
    assert_eq!(reason(), Some(Reason::SecretMissing));
    server.put(
        "secrets",
        json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "keys", "namespace": "tests"},
        }),
    );
    until("a CronJob that runs", &server, || suspended() == Some(json!(false))).await;
    until("NoBackupYet", &server, || reason() == Some(Reason::NoBackupYet)).await;

    let labels = server.get("cronjobs", "docs-backup").unwrap()["spec"]["jobTemplate"]["metadata"]["labels"].clone();
    server.put(
        "jobs",
        json!({
            "apiVersion": "batch/v1", "kind": "Job",
            "metadata": {"name": "docs-backup-1", "namespace": "tests", "uid": "j", "labels": labels.clone()},
            "status": {
                "conditions": [{"type": "Complete", "status": "True"}], "completionTime": "2026-11-22T02:31:00Z",
            },
        }),
    );
    let (_, pod) = ended("docs-backup-1", "Complete", 0, Some(RESULT));
    let mut pod = json!(*pod.unwrap());
    pod["metadata"]["namespace"] = json!("tests");
    pod["metadata"]["labels"] = labels;
    pod["metadata"]["ownerReferences"][0]["uid"] =
        server.get("jobs", "docs-backup-1").unwrap()["metadata"]["uid"].clone();
    server.put("pods", pod);
    until("BackupCompleted", &server, || reason() == Some(Reason::BackupCompleted)).await;
    let shown = status_on(&server, "docs").backup.unwrap();
    assert_eq!(shown.last_successful_time.unwrap().0.to_string(), "2026-11-22T02:31:00Z");
    let name = || status_on(&server, "docs").backup?.name;
    until("the name", &server, || name().as_deref() == Some("ragengine-1.tar")).await;

    server.edit("ragengines", "docs", |object| {
        object["spec"].as_object_mut().unwrap().remove("backup");
    });
    until("no CronJob", &server, || server.get("cronjobs", "docs-backup").is_none()).await;
    pass(A_WHILE).await;
    assert!(server.get("configmaps", "docs-backup").is_none());
    assert_eq!(condition(&server, "docs", ConditionType::BackupSucceeded), None);
    controller.stop().await;
}

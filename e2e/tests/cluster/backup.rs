//! The samples that back up and restore an engine, unchanged except for their image.

use k8s_openapi::api::batch::v1::{CronJob, Job};
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use kube::api::ListParams;
use ragengine_e2e::engine::Engine;
use ragengine_e2e::namespace::{Namespace, in_namespace};
use ragengine_e2e::operator::Operator;
use ragengine_e2e::server::{documents, question};
use ragengine_e2e::{Error, cluster, cluster_client, logs};
use serde_json::{Value, json};

const ENGINE: &str = include_str!("../../../config/samples/ragengine.yaml");
const BACKUP: &str = include_str!("../../../config/samples/backup.yaml");
const RESTORE: &str = include_str!("../../../config/samples/restore.yaml");

#[tokio::test]
async fn a_restore_job_restores_the_backup_of_a_backup_job() {
    in_namespace("backup", async |namespace| {
        let _operator = Operator::install(namespace).await?;
        let sample: Value = serde_saphyr::from_str(ENGINE).unwrap();
        let engine = Engine::start(namespace, "docs", &sample["spec"]).await?;
        let (lunch, garden) = ("lunch", "Lunch is served at half past twelve in the garden.");
        let secret = engine.token_secret();
        let post = async |path: &str, body: &Value| {
            cluster_client::post_with(namespace, &secret, &engine.url(path), body).await?.ok()
        };
        post("/index", &documents("house", &[(lunch, garden)])).await?;

        let [claim, cron_job] = BACKUP.split("\n---\n").collect::<Vec<_>>().try_into().unwrap();
        let claim: Value = serde_saphyr::from_str(claim).unwrap();
        namespace.apply::<PersistentVolumeClaim>("docs-backups", &claim).await?;
        let mut cron_job: Value = serde_saphyr::from_str(cron_job).unwrap();
        set_image(&mut cron_job["spec"]["jobTemplate"]["spec"])?;
        // Backups run only on request in this test.
        cron_job["spec"]["suspend"] = json!(true);
        let made: CronJob = namespace.apply("docs-nightly", &cron_job).await?;
        // Creates the same Job as `kubectl create job --from`.
        let template = made.spec.unwrap().job_template;
        let job = Job { spec: template.spec, ..named("docs-backup-now") };
        let log = run(namespace, &job).await?;
        assert!(log.contains("1 indexes, 1 documents"), "{log}");

        post("/indexes/house/documents/delete", &json!({"doc_ids": [lunch]})).await?;
        post("/index", &documents("house", &[("parking", "Bicycles are parked behind the house.")])).await?;
        let mut restore: Value = serde_saphyr::from_str(RESTORE).unwrap();
        set_image(&mut restore["spec"])?;
        let spec = |restore: &Value| serde_json::from_value(restore["spec"].clone()).unwrap();
        let refused = run(namespace, &Job { spec: spec(&restore), ..named("docs-restore-refused") }).await;
        let refused = refused.err().map(|error| error.to_string()).unwrap_or_default();
        assert!(refused.contains("'house' exists") && refused.contains("--overwrite"), "{refused}");
        let arguments = restore["spec"]["template"]["spec"]["containers"][0]["args"].as_array_mut().unwrap();
        arguments.push(json!("--overwrite"));
        let log = run(namespace, &Job { spec: spec(&restore), ..named("docs-restore") }).await?;
        assert!(log.contains("1 documents restored: house"), "{log}");

        let asked = question("house", "When is lunch served?");
        let answer = cluster_client::post(namespace, &engine.url("/v1/chat/completions"), &asked).await?.ok()?;
        assert_eq!(answer["source_nodes"].as_array().unwrap().len(), 1, "{answer}");
        assert_eq!(answer["source_nodes"][0]["text"], garden, "{answer}");
        Ok(())
    })
    .await;
}

fn named(name: &str) -> Job {
    serde_json::from_value(json!({"metadata": {"name": name}})).unwrap()
}

/// Sets the image under test.
fn set_image(job_spec: &mut Value) -> Result<(), Error> {
    let container = &mut job_spec["template"]["spec"]["containers"][0];
    container["image"] = json!(cluster::server_image()?);
    container["imagePullPolicy"] = json!("IfNotPresent");
    job_spec["backoffLimit"] = json!(0);
    Ok(())
}

/// Runs a Job and returns the log of its pod. When the Job fails, the error has the log.
async fn run(namespace: &Namespace, job: &Job) -> Result<String, Error> {
    let name = namespace.create_object(job).await?.metadata.name.unwrap_or_default();
    let wanted = format!("the end of the Job {name}");
    let succeeded = namespace.until::<Job, _>(&name, &wanted, |job| {
        let status = job.status.clone().unwrap_or_default();
        match (status.succeeded, status.failed) {
            (Some(1), _) => Ok(true),
            (_, Some(1)) => Ok(false),
            _ => Err(format!("{status:?}")),
        }
    });
    let succeeded = succeeded.await?;
    let pods = namespace.api::<Pod>();
    let its = ListParams::default().labels(&format!("batch.kubernetes.io/job-name={name}"));
    let found = pods.list(&its).await.map_err(Error::kubernetes("listing the pods of a Job"))?;
    let pod = found.items.into_iter().next().and_then(|pod| pod.metadata.name).unwrap_or_default();
    let container = if name.contains("restore") { "restore" } else { "backup" };
    let log = logs::of(&pods, &pod, container).await?;
    if succeeded { Ok(log) } else { Err(Error::Unexpected(format!("{name}: {log}"))) }
}

//! `spec.backup` and `spec.bootstrap.restore`, to and from a volume.

use k8s_openapi::api::batch::v1::{CronJob, Job};
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use ragengine_e2e::engine::Engine;
use ragengine_e2e::namespace::in_namespace;
use ragengine_e2e::operator::Operator;
use ragengine_e2e::server::{documents, question};
use ragengine_e2e::{Error, cluster_client};
use ragengine_operator_api::RagEngine;
use serde_json::json;

#[tokio::test]
async fn a_new_engine_begins_with_the_backup_of_another() {
    in_namespace("scheduled-backup", async |namespace| {
        let _operator = Operator::install(namespace).await?;
        let claim = json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "backups"},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
        });
        namespace.apply::<PersistentVolumeClaim>("backups", &claim).await?;
        // Never due during the test.
        let backup = json!({"schedule": "0 0 29 2 *", "persistentVolumeClaim": {"claimName": "backups"}});
        let engine = Engine::start(namespace, "docs", &json!({"backup": backup})).await?;
        let (lunch, garden) = ("lunch", "Lunch is served at half past twelve in the garden.");
        let secret = engine.token_secret();
        let body = documents("house", &[(lunch, garden)]);
        cluster_client::post_with(namespace, &secret, &engine.url("/index"), &body).await?.ok()?;

        let cron_job =
            namespace.until::<CronJob, _>("docs-backup", "a CronJob that is not suspended", |cron_job| match cron_job
                .spec
                .as_ref()
                .filter(|spec| spec.suspend != Some(true))
            {
                Some(spec) => Ok(spec.job_template.clone()),
                None => Err(format!("{:?}", cron_job.spec)),
            });
        // The same Job as `kubectl create job --from`.
        let template = cron_job.await?;
        let labels = template.metadata.and_then(|metadata| metadata.labels).unwrap_or_default();
        let mut job: Job =
            serde_json::from_value(json!({"metadata": {"name": "docs-backup-now", "labels": labels}})).unwrap();
        job.spec = template.spec;
        namespace.create_object(&job).await?;
        let wanted = "the backup in the status";
        let name = namespace.until::<RagEngine, _>("docs", wanted, |engine| {
            let backup = engine.status.as_ref().and_then(|status| status.backup.clone()).unwrap_or_default();
            backup.name.clone().ok_or_else(|| format!("{backup:?}"))
        });
        let name = name.await?;
        assert!(name.starts_with("ragengine-") && name.ends_with(".tar"), "{name}");

        let place = json!({"claimName": "backups", "path": "docs"});
        let spec = json!({"bootstrap": {"restore": {"persistentVolumeClaim": place, "name": name}}});
        let other = Engine::start(namespace, "docs-again", &spec).await?;
        let asked = question("house", "When is lunch served?");
        let answer = cluster_client::post(namespace, &other.url("/v1/chat/completions"), &asked).await?.ok()?;
        assert_eq!(answer["source_nodes"][0]["text"], garden, "{answer}");
        Ok::<(), Error>(())
    })
    .await;
}

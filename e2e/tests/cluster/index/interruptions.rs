//! Interruptions of a synchronisation: the Job, the engine or the operator is killed.

use k8s_openapi::api::core::v1::Pod;
use kube::api::DeleteParams;
use ragengine_e2e::changes::Changes;
use ragengine_e2e::engine::Engine;
use ragengine_e2e::index::{Index, embedded_texts, engine_metrics, is, paths, set};
use ragengine_e2e::namespace::{Namespace, PodSecurity, in_namespace};
use ragengine_e2e::operator::Operator;
use ragengine_e2e::skip::skip;
use ragengine_e2e::source::Files;
use ragengine_e2e::{Error, cluster_client, wait};
use ragengine_operator_api::{ConditionStatus, ConditionType};
use serde_json::json;

use super::of_source;

/// More files than one request sends.
const FILES: usize = 70;
const SENT_AT_ONCE: usize = 64;
/// The last file. Its server delays the reply, so that the synchronisation stays in progress.
const LAST: &str = "z.md";

/// A synchronisation in progress, and its sources.
struct Work<'a> {
    namespace: &'a Namespace,
    engine: Engine<'a>,
    files: Files,
}

impl<'a> Work<'a> {
    async fn prepare(namespace: &'a Namespace) -> Result<Self, Error> {
        let files = Files::start(namespace, None).await?;
        let mut names: Vec<String> = (0..FILES).map(|number| format!("{number:03}.md")).collect();
        names.push(LAST.to_owned());
        let paths: Vec<&str> = names.iter().map(String::as_str).collect();
        let sitemap = files.sitemap(&paths);
        let texts = names.iter().map(|name| (name.clone(), format!("This is what {name} says.")));
        files.change(&Changes::texts(texts.chain([("sitemap.xml".to_owned(), sitemap)]))).await?;
        let storage = json!({"persistentVolume": {"size": "256Mi"}, "deletionPolicy": "Delete"});
        let engine = Engine::start(namespace, "docs", &json!({"storage": storage})).await?;
        Ok(Self { namespace, engine, files })
    }

    /// Starts an Index, and waits until it has sent its first batch of documents.
    async fn begin(&self, name: &str) -> Result<Index<'a>, Error> {
        self.files.hold(&[&format!("/{LAST}")]).await?;
        let site = json!({"name": "site", "http": {"sitemap": self.files.url("sitemap.xml")}});
        let index = Index::apply(self.namespace, name, &of_source("docs", &site)).await?;
        wait::until("some of the documents are there", async || {
            let held = self.held(name).await.map_err(|error| error.to_string())?;
            if held == SENT_AT_ONCE { Ok(()) } else { Err(format!("{held} documents")) }
        })
        .await?;
        Ok(index)
    }

    async fn held(&self, name: &str) -> Result<usize, Error> {
        Ok(paths(&self.engine, name, &format!("{name}.site")).await?.len())
    }

    async fn release(&self) -> Result<(), Error> {
        self.files.hold(&[]).await
    }

    async fn assert_all(&self, name: &str) -> Result<(), Error> {
        let names = (0..FILES).map(|number| format!("{number:03}.md")).chain([LAST.to_owned()]);
        let wanted = set(names.map(|path| self.files.document(&path)));
        assert_eq!(paths(&self.engine, name, &format!("{name}.site")).await?, wanted);
        Ok(())
    }
}

#[tokio::test]
async fn a_job_that_is_killed_half_way_is_finished_by_the_next() {
    in_namespace("index-job-killed", async |namespace| {
        let _operator = Operator::install(namespace).await?;
        let work = Work::prepare(namespace).await?;
        let index = work.begin("site").await?;
        let progress = index.until_status("the progress is reported", |index| {
            let status = index.status.clone().unwrap_or_default();
            status.total == Some(FILES as u64 + 1) && status.done.is_some_and(|done| done >= SENT_AT_ONCE as u64)
        });
        assert!(is(&progress.await?, ConditionType::Progressing, ConditionStatus::True));
        let victim = index.running_pod().await?.metadata.name.unwrap();
        let at_once = DeleteParams { grace_period_seconds: Some(0), ..DeleteParams::default() };
        namespace.api::<Pod>().delete(&victim, &at_once).await.map_err(Error::kubernetes("killing the Job's pod"))?;
        namespace.until_gone::<Pod>(&victim).await?;
        work.release().await?;
        index.until_synced().await?;
        work.assert_all("site").await?;
        assert_eq!(index.jobs().await?.len(), 2);
        // Documents that had arrived were not sent again.
        assert_eq!(embedded_texts(&engine_metrics(&work.engine).await?), FILES as f64 + 1.0);
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn an_engine_and_an_operator_that_are_killed_half_way_are_waited_for() {
    in_namespace("index-killed", async |namespace| {
        let operator = Operator::install(namespace).await?;
        let work = Work::prepare(namespace).await?;
        let index = work.begin("operator").await?;
        let victim = operator.acting_pod().await?.metadata.name.unwrap();
        let at_once = DeleteParams { grace_period_seconds: Some(0), ..DeleteParams::default() };
        operator.pods().delete(&victim, &at_once).await.map_err(Error::kubernetes("killing the operator"))?;
        work.release().await?;
        index.until_synced().await?;
        work.assert_all("operator").await?;
        assert_eq!(index.jobs().await?.len(), 1);

        let node = namespace.beside("node", PodSecurity::Privileged).await?;
        if let Some(reason) = cluster_client::why_not_kill(&node).await? {
            skip("an_engine_and_an_operator_that_are_killed: the engine", &reason);
            return Ok(());
        }
        let index = work.begin("engine").await?;
        cluster_client::kill(&node, &work.engine.ready_pod().await?, "ragengine").await?;
        work.release().await?;
        index.until_synced().await?;
        work.assert_all("engine").await?;
        assert_eq!(index.jobs().await?.len(), 1);
        Ok(())
    })
    .await;
}

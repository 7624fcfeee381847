//! The start of synchronisations: after a change, on request, on a schedule, and never while suspended.

use ragengine_e2e::changes::Changes;
use ragengine_e2e::engine::Engine;
use ragengine_e2e::index::{Index, paths, set};
use ragengine_e2e::namespace::in_namespace;
use ragengine_e2e::operator::Operator;
use ragengine_e2e::source::Claim;
use ragengine_operator_api::{ConditionStatus, ConditionType, Reason, SYNC_ANNOTATION};
use serde_json::json;

use super::{TEXTS, inline, of_source};

#[tokio::test]
async fn a_suspended_index_is_not_synchronised_until_it_is_resumed() {
    in_namespace("index-suspend", async |namespace| {
        let _operator = Operator::install(namespace).await?;
        let engine = Engine::start(namespace, "docs", &json!({})).await?;
        let mut spec = inline("docs", "here", &TEXTS);
        spec["suspend"] = json!(true);
        let index = Index::apply(namespace, "planets", &spec).await?;
        index.until_not_ready(Reason::Suspended).await?;
        let annotation = json!({"metadata": {"annotations": {SYNC_ANNOTATION: "now"}}});
        namespace.change::<ragengine_operator_api::Index>("planets", &annotation).await?;
        index.until(ConditionType::Progressing, ConditionStatus::False, Reason::Suspended).await?;
        assert!(index.jobs().await?.is_empty());

        spec["suspend"] = json!(false);
        index.set(&spec).await?;
        index.until_synced().await?;
        assert_eq!(paths(&engine, "planets", "planets.here").await?, set(TEXTS.map(|(path, _)| path)));
        // While an Index is suspended, changes are ignored.
        let mut more = inline("docs", "here", &[TEXTS.as_slice(), &[("pluto.md", "Pluto is small.")]].concat());
        more["suspend"] = json!(true);
        index.set(&more).await?;
        index.until_not_ready(Reason::Suspended).await?;
        assert_eq!(index.jobs().await?.len(), 1);
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_schedule_starts_a_synchronisation() {
    in_namespace("index-schedule", async |namespace| {
        let _operator = Operator::install(namespace).await?;
        let claim = Claim::start(namespace).await?;
        claim.change(&Changes::texts(TEXTS)).await?;
        let engine = Engine::start(namespace, "docs", &json!({})).await?;
        let mut spec = of_source("docs", &json!({"name": "volume", "persistentVolumeClaim": {"name": Claim::NAME}}));
        spec["schedule"] = json!("* * * * *");
        let index = Index::start(namespace, "files", &spec).await?;
        let first = index.object().await?.status.unwrap().last_sync.unwrap();
        claim.change(&Changes::texts([("pluto.md", "Pluto is small.")])).await?;
        let again = index.until_status("the new file is indexed", |index| {
            index.status.as_ref().is_some_and(|status| status.documents == Some(TEXTS.len() as u64 + 1))
        });
        let second = again.await?.status.unwrap().last_sync.unwrap();
        assert_ne!(first.id, second.id);
        assert_eq!(first.specification, second.specification);
        assert!(paths(&engine, "files", "files.volume").await?.contains("pluto.md"));

        // A schedule without any date.
        spec["schedule"] = json!("0 0 30 2 *");
        index.set(&spec).await?;
        let message = index.until_not_ready(Reason::InvalidSpec).await?;
        assert!(message.contains("schedule"), "{message}");
        Ok(())
    })
    .await;
}

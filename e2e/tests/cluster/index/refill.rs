//! An engine that lost its data directory.

use k8s_openapi::api::core::v1::Pod;
use ragengine_e2e::engine::Engine;
use ragengine_e2e::index::{Index, paths, set};
use ragengine_e2e::namespace::in_namespace;
use ragengine_e2e::operator::Operator;
use serde_json::json;

use super::{TEXTS, inline};

#[tokio::test]
async fn an_engine_that_lost_its_data_is_filled_again_without_being_asked() {
    in_namespace("index-refill", async |namespace| {
        let _operator = Operator::install(namespace).await?;
        // Without a claim, the data is deleted with the pod.
        let engine = Engine::start(namespace, "docs", &json!({})).await?;
        let index = Index::start(namespace, "planets", &inline("docs", "here", &TEXTS)).await?;
        let before = index.object().await?.status.unwrap();
        let pod = engine.ready_pod().await?.metadata.name.unwrap();
        namespace.delete::<Pod>(&pod).await?;
        let refilled = index.until_status("the other data directory is filled", |index| {
            index.status.as_ref().is_some_and(|status| status.data_id != before.data_id)
        });
        let refilled = refilled.await?.status.unwrap();
        assert_eq!(refilled.documents, Some(TEXTS.len() as u64));
        index.until_synced().await?;
        assert_eq!(paths(&engine, "planets", "planets.here").await?, set(TEXTS.map(|(path, _)| path)));
        Ok(())
    })
    .await;
}

//! Deletion, in every order.

use ragengine_e2e::engine::Engine;
use ragengine_e2e::index::{Index, condition, texts};
use ragengine_e2e::namespace::{Namespace, PodSecurity, in_namespace};
use ragengine_e2e::operator::Operator;
use ragengine_e2e::{Error, wait};
use ragengine_operator_api::{ConditionType, INDEX_FINALIZER, Index as Object, RagEngine, Reason};
use serde_json::{Value, json};

use super::{TEXTS, inline};

#[tokio::test]
async fn an_index_takes_its_documents_along_or_leaves_them() {
    in_namespace("index-deletion", async |namespace| {
        let _operator = Operator::install(namespace).await?;
        let engine = Engine::start(namespace, "docs", &json!({})).await?;
        let index = Index::start(namespace, "goes", &inline("docs", "here", &TEXTS)).await?;
        assert_eq!(index.object().await?.metadata.finalizers.unwrap_or_default(), [INDEX_FINALIZER]);
        assert_eq!(texts(&engine, "goes").await?.len(), TEXTS.len());
        namespace.delete::<Object>("goes").await?;
        namespace.until_gone::<Object>("goes").await?;
        assert!(texts(&engine, "goes").await?.is_empty());

        let mut spec = inline("docs", "here", &TEXTS);
        spec["deletionPolicy"] = json!("Retain");
        let index = Index::start(namespace, "stays", &spec).await?;
        assert!(index.object().await?.metadata.finalizers.unwrap_or_default().is_empty());
        namespace.delete::<Object>("stays").await?;
        namespace.until_gone::<Object>("stays").await?;
        assert_eq!(texts(&engine, "stays").await?.len(), TEXTS.len());
        // The next one of that name finds them, and owns them.
        Index::start(namespace, "stays", &inline("docs", "here", &TEXTS[..3])).await?;
        assert_eq!(texts(&engine, "stays").await?.len(), 3);
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn an_index_goes_with_its_engine_without_it_and_before_it_was_ever_filled() {
    in_namespace("index-orders", async |namespace| {
        let _operator = Operator::install(namespace).await?;
        let engine = Engine::start(namespace, "docs", &json!({})).await?;
        Index::start(namespace, "first", &inline("docs", "here", &TEXTS)).await?;
        Index::start(namespace, "second", &inline("docs", "here", &TEXTS)).await?;

        // An engine that is stopped is waited for, until somebody lets go.
        engine.set(&json!({"replicas": 0})).await?;
        engine.until_not_ready(Reason::Stopped).await?;
        namespace.delete::<Object>("first").await?;
        until_blocked(namespace, "first").await?;
        namespace.change::<Object>("first", &json!({"spec": {"deletionPolicy": "Retain"}})).await?;
        namespace.until_gone::<Object>("first").await?;

        // The engine first.
        namespace.delete::<RagEngine>("docs").await?;
        namespace.until_gone::<RagEngine>("docs").await?;
        let index = Index::named(namespace, "second");
        index.until_not_ready(Reason::EngineNotFound).await?;
        namespace.delete::<Object>("second").await?;
        namespace.until_gone::<Object>("second").await?;
        // One that never had an engine.
        let index = Index::apply(namespace, "third", &inline("docs", "here", &TEXTS)).await?;
        index.until_not_ready(Reason::EngineNotFound).await?;
        namespace.delete::<Object>("third").await?;
        namespace.until_gone::<Object>("third").await
    })
    .await;
}

async fn until_blocked(namespace: &Namespace, name: &str) -> Result<(), Error> {
    let wanted = "the deletion says what it waits for";
    namespace
        .until::<Object, _>(name, wanted, |index| match condition(index, ConditionType::Ready) {
            Some(ready) if ready.message.contains("deletionPolicy: Retain") => Ok(()),
            ready => Err(format!("{ready:?}")),
        })
        .await
}

#[tokio::test]
async fn a_namespace_goes_at_once_with_everything_in_it() {
    in_namespace("index-namespace", async |namespace| {
        let watched = namespace.beside("team", PodSecurity::Restricted).await?;
        let _operator = Operator::install_with(namespace, &json!({"watchNamespaces": [watched.name]})).await?;
        Engine::start(&watched, "docs", &json!({})).await?;
        Index::start(&watched, "planets", &inline("docs", "here", &TEXTS)).await?;
        // One that is not done yet.
        let spec: Value = inline("docs", "here", &TEXTS);
        Index::apply(&watched, "more", &spec).await?;
        watched.delete_itself().await?;
        let namespaces = kube::Api::<k8s_openapi::api::core::v1::Namespace>::all(namespace.client.clone());
        wait::until("the namespace is gone", async || match namespaces.get_opt(&watched.name).await {
            Ok(None) => Ok(()),
            Ok(Some(object)) => Err(format!("{:?}", object.status)),
            Err(error) => Err(error.to_string()),
        })
        .await
    })
    .await;
}

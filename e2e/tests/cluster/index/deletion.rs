//! Deletion of Indexes and engines in every order, with and without an operator.

use std::panic::{AssertUnwindSafe, resume_unwind};

use futures_util::FutureExt as _;
use ragengine_e2e::engine::Engine;
use ragengine_e2e::index::{Index, texts};
use ragengine_e2e::namespace::{Namespace, PodSecurity, alone_in_namespace, in_namespace};
use ragengine_e2e::operator::Operator;
use ragengine_e2e::{Error, definition, wait};
use ragengine_operator_api::{Index as Object, RagEngine, Reason};
use serde_json::{Value, json};

use super::{TEXTS, inline};

fn retained() -> Value {
    let mut spec = inline("docs", "here", &TEXTS);
    spec["deletionPolicy"] = json!("Retain");
    spec
}

#[tokio::test]
async fn a_deleted_index_deletes_or_retains_its_documents() {
    in_namespace("index-deletion", async |namespace| {
        let _operator = Operator::install(namespace).await?;
        let engine = Engine::start(namespace, "docs", &json!({})).await?;
        let index = Index::start(namespace, "goes", &inline("docs", "here", &TEXTS)).await?;
        assert_eq!(index.object().await?.metadata.finalizers, None, "nothing holds it");
        assert_eq!(texts(&engine, "goes").await?.len(), TEXTS.len());
        namespace.delete::<Object>("goes").await?;
        namespace.until_gone::<Object>("goes").await?;
        until_texts(&engine, "goes", 0).await?;

        Index::start(namespace, "stays", &retained()).await?;
        namespace.delete::<Object>("stays").await?;
        namespace.until_gone::<Object>("stays").await?;
        // The other Index uses the same engine. It is deleted later, while this one stays.
        Index::start(namespace, "goes", &inline("docs", "here", &TEXTS)).await?;
        namespace.delete::<Object>("goes").await?;
        until_texts(&engine, "goes", 0).await?;
        assert_eq!(texts(&engine, "stays").await?.len(), TEXTS.len());
        // A new Index of the same name finds the documents and owns them.
        Index::start(namespace, "stays", &inline("docs", "here", &TEXTS[..3])).await?;
        assert_eq!(texts(&engine, "stays").await?.len(), 3);
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn an_index_is_deleted_with_its_engine_without_one_and_before_it_was_filled() {
    in_namespace("index-orders", async |namespace| {
        let _operator = Operator::install(namespace).await?;
        let storage = json!({"storage": {"persistentVolume": {"size": "1Gi"}}});
        let engine = Engine::start(namespace, "docs", &storage).await?;
        Index::start(namespace, "first", &inline("docs", "here", &TEXTS)).await?;
        Index::start(namespace, "second", &inline("docs", "here", &TEXTS)).await?;

        // The documents of a stopped engine are deleted when it runs again.
        let with = |replicas: u32| json!({"replicas": replicas, "storage": storage["storage"]});
        engine.set(&with(0)).await?;
        engine.until_stopped().await?;
        namespace.delete::<Object>("first").await?;
        namespace.until_gone::<Object>("first").await?;
        engine.set(&with(1)).await?;
        engine.until_ready().await?;
        until_texts(&engine, "first", 0).await?;
        assert_eq!(texts(&engine, "second").await?.len(), TEXTS.len());

        // The engine is deleted first.
        namespace.delete::<RagEngine>("docs").await?;
        namespace.until_gone::<RagEngine>("docs").await?;
        let index = Index::named(namespace, "second");
        index.until_not_ready(Reason::EngineNotFound).await?;
        namespace.delete::<Object>("second").await?;
        namespace.until_gone::<Object>("second").await?;
        // This Index never had an engine.
        let index = Index::apply(namespace, "third", &inline("docs", "here", &TEXTS)).await?;
        index.until_not_ready(Reason::EngineNotFound).await?;
        namespace.delete::<Object>("third").await?;
        namespace.until_gone::<Object>("third").await
    })
    .await;
}

async fn until_texts(engine: &Engine<'_>, index: &str, count: usize) -> Result<(), Error> {
    wait::until(&format!("{index} has {count} documents"), async || match texts(engine, index).await {
        Ok(found) if found.len() == count => Ok(()),
        Ok(found) => Err(format!("{found:?}")),
        Err(error) => Err(error.to_string()),
    })
    .await
}

#[tokio::test]
async fn without_an_operator_deletion_does_not_block_and_the_next_operator_deletes_the_documents() {
    in_namespace("index-uninstalled", async |namespace| {
        let watched = namespace.beside("team", PodSecurity::Restricted).await?;
        let operator = Operator::install_with(namespace, &json!({"watchNamespaces": [watched.name]})).await?;
        let engine = Engine::start(&watched, "docs", &json!({})).await?;
        Index::start(&watched, "goes", &inline("docs", "here", &TEXTS)).await?;
        Index::start(&watched, "stays", &retained()).await?;
        Index::start(&watched, "another", &inline("docs", "here", &TEXTS)).await?;
        operator.release.uninstall().await?;
        for name in ["goes", "stays"] {
            watched.delete::<Object>(name).await?;
            watched.until_gone::<Object>(name).await?;
            assert_eq!(texts(&engine, name).await?.len(), TEXTS.len());
        }
        operator.release.install(&operator.values()).await?;
        operator.until_available().await?;
        until_texts(&engine, "goes", 0).await?;
        for name in ["stays", "another"] {
            assert_eq!(texts(&engine, name).await?.len(), TEXTS.len(), "{name}");
        }
        operator.release.uninstall().await?;
        watched.delete_itself().await?;
        until_namespace_is_gone(&watched).await
    })
    .await;
}

/// Runs alone, because the definitions are cluster-wide.
#[tokio::test]
async fn definitions_that_are_not_kept_delete_every_index() {
    alone_in_namespace("index-definitions", async |namespace| {
        let values = json!({"crds": {"install": true, "keep": false}});
        let operator = Operator::prepare(namespace, &values).await?;
        let outcome = AssertUnwindSafe(async {
            operator.release.install_and_take_over(&operator.values()).await?;
            operator.until_available().await?;
            Engine::start(namespace, "docs", &json!({})).await?;
            Index::start(namespace, "goes", &inline("docs", "here", &TEXTS)).await?;
            Index::start(namespace, "stays", &retained()).await?;
            operator.release.uninstall().await
        });
        let outcome = outcome.catch_unwind().await;
        let restored = definition::install_again(&namespace.client).await;
        outcome.unwrap_or_else(|panic| resume_unwind(panic))?;
        restored?;
        for name in ["goes", "stays"] {
            assert!(!namespace.has::<Object>(name).await?, "{name}");
        }
        assert!(!namespace.has::<RagEngine>("docs").await?);
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_namespace_with_an_engine_and_an_index_is_deleted_at_once() {
    in_namespace("index-namespace", async |namespace| {
        let watched = namespace.beside("team", PodSecurity::Restricted).await?;
        let _operator = Operator::install_with(namespace, &json!({"watchNamespaces": [watched.name]})).await?;
        Engine::start(&watched, "docs", &json!({})).await?;
        Index::start(&watched, "planets", &inline("docs", "here", &TEXTS)).await?;
        // This Index is not synchronised yet.
        let spec: Value = inline("docs", "here", &TEXTS);
        Index::apply(&watched, "more", &spec).await?;
        watched.delete_itself().await?;
        until_namespace_is_gone(&watched).await
    })
    .await;
}

async fn until_namespace_is_gone(namespace: &Namespace) -> Result<(), Error> {
    let namespaces = kube::Api::<k8s_openapi::api::core::v1::Namespace>::all(namespace.client.clone());
    wait::until("the namespace is gone", async || match namespaces.get_opt(&namespace.name).await {
        Ok(None) => Ok(()),
        Ok(Some(object)) => Err(format!("{:?}", object.status)),
        Err(error) => Err(error.to_string()),
    })
    .await
}

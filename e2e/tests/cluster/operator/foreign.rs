//! Objects of a user that have a name which the operator needs.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Service;
use ragengine_e2e::engine::Engine;
use ragengine_e2e::namespace::in_namespace;
use ragengine_e2e::operator::Operator;
use ragengine_operator_api::Reason;
use serde_json::json;

#[tokio::test]
async fn a_service_of_a_user_is_not_taken_over() {
    in_namespace("foreign", async |namespace| {
        let _operator = Operator::install(namespace).await?;
        let object = json!({
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": "docs"},
            "spec": {"selector": {"app": "mine"}, "ports": [{"port": 8080}]},
        });
        let mine = namespace.apply::<Service>("docs", &object).await?;
        let engine = Engine::apply(namespace, "docs", &json!({"replicas": 0})).await?;
        let message = engine.until_not_ready(Reason::ObjectRefused).await?;
        assert!(message.contains("Service docs") && message.contains("was not created by this RAGEngine"), "{message}");
        let now: Service = namespace.get("docs").await?;
        assert_eq!((now.metadata.resource_version, &now.spec), (mine.metadata.resource_version, &mine.spec));
        assert!(namespace.has::<Deployment>("docs").await?, "the other objects are created");

        // The operator gets no event when the object is deleted. It retries, with growing delays.
        namespace.delete::<Service>("docs").await?;
        engine.until_stopped().await?;
        assert_eq!(namespace.get::<Service>("docs").await?.spec.unwrap().ports.unwrap()[0].port, 80);
        Ok(())
    })
    .await;
}

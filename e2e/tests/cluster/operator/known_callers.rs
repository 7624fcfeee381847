//! An engine that lets in one ServiceAccount and not another, by the rules of an Index.

use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::api::PostParams;
use ragengine_e2e::engine::Engine;
use ragengine_e2e::index::Index;
use ragengine_e2e::namespace::{Namespace, in_namespace};
use ragengine_e2e::operator::Operator;
use ragengine_e2e::{Error, wait};
use serde_json::json;

/// A token of a new ServiceAccount for this audience, as a pod's volume has it.
async fn token(namespace: &Namespace, account: &str, audience: &str) -> Result<String, Error> {
    let accounts = namespace.api::<ServiceAccount>();
    let object: ServiceAccount = serde_json::from_value(json!({"metadata": {"name": account}})).unwrap();
    match accounts.create(&PostParams::default(), &object).await {
        Err(kube::Error::Api(status)) if status.code == 409 => {}
        created => drop(created.map_err(Error::kubernetes("creating a ServiceAccount"))?),
    }
    let spec = TokenRequestSpec { audiences: vec![audience.to_owned()], ..TokenRequestSpec::default() };
    let request = TokenRequest { spec, ..TokenRequest::default() };
    let made = accounts.create_token_request(account, &PostParams::default(), &request).await;
    let made = made.map_err(Error::kubernetes("making a token"))?;
    Ok(made.status.map(|status| status.token).unwrap_or_default())
}

#[tokio::test]
async fn one_service_account_gets_in_and_another_does_not() {
    in_namespace("callers", async |namespace| {
        let _operator = Operator::install(namespace).await?;
        let spec =
            json!({"auth": {"modes": ["jwt"], "defaultAccess": {"read": []}}, "retrieval": {"maxDistance": 1.1}});
        let engine = Engine::start(namespace, "docs", &spec).await?;
        let reader = format!("serviceAccount:{}/reader", namespace.name);
        let documents = json!({"documents": [{"path": "moon.md", "text": "The moon is far away."}]});
        let index = json!({
            "engineRef": {"name": "docs"}, "access": {"read": [reader]},
            "sources": [{"name": "here", "inline": documents}],
        });
        // The operator reads the state of the source with its own token.
        Index::start(namespace, "sky", &index).await?;

        let audience = format!("http://docs.{}.svc", namespace.name);
        let (reader, stranger) =
            (token(namespace, "reader", &audience).await?, token(namespace, "stranger", &audience).await?);
        let question = json!({"index_name": "sky", "query": "How far is the moon?"});
        // The kubelet shows a changed ConfigMap after a while.
        wait::until("the reader is let in", async || {
            let reply = engine.post_with(&reader, "/retrieve", &question).await.map_err(|error| error.to_string())?;
            if reply.status == 200 { Ok(()) } else { Err(format!("{}: {}", reply.status, reply.text)) }
        })
        .await?;
        let refused = engine.post_with(&stranger, "/retrieve", &question).await?;
        assert_eq!(refused.status, 403);
        assert_eq!(refused.json()?["detail"], "You may not read index 'sky'.");
        assert_eq!(engine.post("/retrieve", &question).await?.status, 401, "without a token");
        let elsewhere = token(namespace, "reader", "http://other.default.svc").await?;
        assert_eq!(engine.post_with(&elsewhere, "/retrieve", &question).await?.status, 401, "for another audience");
        Ok(())
    })
    .await;
}

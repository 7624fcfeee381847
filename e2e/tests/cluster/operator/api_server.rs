//! The API server is killed and restarts.

use k8s_openapi::api::core::v1::{Pod, Service};
use kube::Api;
use kube::api::ListParams;
use ragengine_e2e::engine::Engine;
use ragengine_e2e::namespace::{Namespace, PodSecurity, alone_in_namespace};
use ragengine_e2e::operator::Operator;
use ragengine_e2e::pod::container_status;
use ragengine_e2e::skip::skip;
use ragengine_e2e::{Error, cluster_client, wait};
use serde_json::json;

const API_SERVER: &str = "kube-apiserver";

#[tokio::test]
async fn the_operator_continues_after_an_outage_of_the_api_server() {
    const TEST: &str = "the_operator_continues_after_an_outage_of_the_api_server";
    alone_in_namespace("api-server", async |namespace| {
        let node = namespace.beside("node", PodSecurity::Privileged).await?;
        if let Some(reason) = cluster_client::why_not_kill(&node).await? {
            skip(TEST, &reason);
            return Ok(());
        }
        let servers = api_servers(namespace).await?;
        let [server] = &servers[..] else {
            skip(TEST, &format!("the cluster shows {} pods of its API server, not one", servers.len()));
            return Ok(());
        };
        let _operator = Operator::install(namespace).await?;
        let engine = Engine::apply(namespace, "docs", &json!({"replicas": 0})).await?;
        engine.until_status("the engine is reconciled", |_| true).await?;
        let service: Service = namespace.get("docs").await?;

        cluster_client::kill(&node, &as_on_the_node(server), API_SERVER).await?;
        let restarts = |server: &Pod| container_status(server, API_SERVER).map_or(0, |status| status.restart_count);
        wait::until("the API server has restarted and answers", async || {
            let found = api_servers(namespace).await.map_err(|error| error.to_string())?;
            let counts: Vec<_> = found.iter().map(restarts).collect();
            if counts.iter().any(|count| *count > restarts(server)) { Ok(()) } else { Err(format!("{counts:?}")) }
        })
        .await?;
        wait::until("the drift is accepted", async || {
            namespace.delete::<Service>("docs").await.map_err(|error| error.to_string())
        })
        .await?;
        namespace
            .until::<Service, _>("docs", "the Service is created again", |now| {
                if now.metadata.uid == service.metadata.uid { Err("the old object".to_owned()) } else { Ok(()) }
            })
            .await?;
        engine.set(&json!({"replicas": 0, "retrieval": {"maxDistance": 1.2}})).await?;
        engine.until_status("the change is reconciled", |_| true).await.map(drop)
    })
    .await;
}

async fn api_servers(namespace: &Namespace) -> Result<Vec<Pod>, Error> {
    let pods = Api::<Pod>::namespaced(namespace.client.clone(), "kube-system");
    let listing = pods.list(&ListParams::default().labels(&format!("component={API_SERVER}"))).await;
    Ok(listing.map_err(Error::kubernetes("looking for the API server's pod"))?.items)
}

/// The node names a static pod by the hash of its file, which is another uid than that of the API server.
fn as_on_the_node(server: &Pod) -> Pod {
    let mut server = server.clone();
    let annotations = server.metadata.annotations.as_ref();
    let hash = annotations.and_then(|annotations| annotations.get("kubernetes.io/config.hash")).cloned();
    server.metadata.uid = hash.or(server.metadata.uid);
    server
}

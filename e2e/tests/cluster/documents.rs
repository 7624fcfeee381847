use k8s_openapi::api::core::v1::Pod;
use ragengine_e2e::cluster_client;
use ragengine_e2e::namespace::in_namespace;
use ragengine_e2e::pod::{client_pod, container_status};
use ragengine_e2e::server::{SERVER, Server, Volume, documents, question, retrieval};

const LUNCH: &str = "Lunch is served at half past twelve in the garden.";
const PARKING: &str = "Bicycles are parked behind the house.";

#[tokio::test]
async fn a_server_becomes_ready_as_a_restricted_pod_with_a_read_only_root() {
    in_namespace("ready", async |namespace| {
        // The namespace refuses pods that are not restricted, such as a test pod that runs as root.
        let mut unrestricted = client_pod("root", &["wait"])?;
        let spec = unrestricted.spec.as_mut().unwrap();
        spec.security_context.as_mut().unwrap().run_as_non_root = None;
        let refused = namespace.create_object(&unrestricted).await.unwrap_err();
        assert!(refused.is_forbidden() && refused.to_string().contains("restricted"), "{refused}");

        let server = Server::start(namespace, Volume::Claim).await?;
        let pod = server.ready_pod().await?;
        assert_eq!(server.get(&pod, "/readyz").await?.ok()?["ready"], true);
        assert_read_only_root(&pod);
        assert_eq!(container_status(&pod, SERVER).unwrap().restart_count, 0);
        Ok(())
    })
    .await;
}

fn assert_read_only_root(pod: &Pod) {
    let server = pod.spec.as_ref().unwrap().containers.iter().find(|container| container.name == SERVER).unwrap();
    assert_eq!(server.security_context.as_ref().unwrap().read_only_root_filesystem, Some(true));
}

#[tokio::test]
async fn a_document_from_another_pod_is_found_and_answered_from() {
    in_namespace("documents", async |namespace| {
        let server = Server::start(namespace, Volume::Ephemeral).await?;
        let added = documents("house", &[("lunch", LUNCH), ("parking", PARKING)]);
        cluster_client::post(namespace, &server.url("/index"), &added).await?.ok()?;

        let query = retrieval("house", "When is lunch?");
        let found = cluster_client::post(namespace, &server.url("/retrieve"), &query).await?.ok()?;
        assert_eq!((&found["results"][0]["doc_id"], &found["results"][0]["text"]), (&"lunch".into(), &LUNCH.into()));

        let asked = question("house", "When is lunch served?");
        let answer = cluster_client::post(namespace, &server.url("/v1/chat/completions"), &asked).await?.ok()?;
        let content = answer["choices"][0]["message"]["content"].as_str().unwrap();
        assert!(content.contains(&format!("{LUNCH} [1]")), "{answer}");
        assert_eq!(answer["source_nodes"][0]["doc_id"], "lunch", "{answer}");
        Ok(())
    })
    .await;
}

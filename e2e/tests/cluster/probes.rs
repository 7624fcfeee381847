use k8s_openapi::api::core::v1::Pod;
use ragengine_e2e::namespace::in_namespace;
use ragengine_e2e::pod::{container_status, is_ready};
use ragengine_e2e::server::{SERVER, Server, Volume, documents};
use ragengine_e2e::{Error, cluster_client, wait};

#[tokio::test]
async fn a_volume_that_is_read_only_from_the_start_is_not_ready_and_says_why() {
    in_namespace("read-only", async |namespace| {
        let server = Server::install(namespace, Volume::ReadOnly).await?;
        let pod = server.running_pod().await?;
        let reason = why_volume_cannot_be_written(&server, &pod, 503).await?;
        assert!(reason.contains("cannot be written") && reason.contains("Read-only file system"), "{reason}");
        let refused = server.post(&pod, "/index", &documents("any", &[("a", "A text.")])).await?;
        assert_eq!(refused.status, 503, "{}", refused.text);
        assert_lives_unready(&server, &pod).await
    })
    .await;
}

#[tokio::test]
async fn a_full_volume_is_reported_and_the_pod_stays_ready() {
    const FILLER: &str = "/data/filler";
    in_namespace("full", async |namespace| {
        let server = Server::start(namespace, Volume::Small).await?;
        let pod = server.ready_pod().await?;
        server.post(&pod, "/index", &documents("kept", &[("a", "A text.")])).await?.ok()?;
        let name = pod.metadata.name.as_deref().unwrap();

        cluster_client::fill(server.pods(), name, FILLER).await?;
        let reason = why_volume_cannot_be_written(&server, &pod, 200).await?;
        assert!(reason.contains("cannot be written") && reason.contains("the disk is full"), "{reason}");
        // The pod stays ready, because reads work and deletions free space.
        assert_lives_ready(&server, &pod).await?;
        assert_eq!(server.get(&pod, "/indexes/kept").await?.ok()?["documents"], 1);

        cluster_client::remove(server.pods(), name, FILLER).await?;
        let healed = server.ready_pod().await?;
        assert_eq!(healed.metadata.uid, pod.metadata.uid);
        server.post(&healed, "/index", &documents("kept", &[("b", "Another text.")])).await?.ok()?;
        assert_eq!(container_status(&healed, SERVER).unwrap().restart_count, 0);
        Ok(())
    })
    .await;
}

/// Waits until /readyz has this status and reports that the volume cannot be written. Returns the reason.
async fn why_volume_cannot_be_written(server: &Server<'_>, pod: &Pod, status: u16) -> Result<String, Error> {
    wait::until("/readyz says what is wrong with the volume", async || {
        let reply = server.get(pod, "/readyz").await.map_err(|error| error.to_string())?;
        let readiness = reply.json().map_err(|error| error.to_string())?;
        let volume = &readiness["checks"]["volume"];
        if reply.status == status && readiness["ready"] == (status == 200) && volume["ready"] == false {
            return Ok(volume["detail"].as_str().unwrap_or_default().to_owned());
        }
        Err(format!("{}: {}", reply.status, reply.text))
    })
    .await
}

/// A server that is not ready is not restarted.
async fn assert_lives_unready(server: &Server<'_>, pod: &Pod) -> Result<(), Error> {
    let unready = server.pod_that("the pod runs and is not ready", |pod| !is_ready(pod)).await?;
    let status = container_status(&unready, SERVER).unwrap();
    assert_eq!((status.restart_count, status.ready), (0, false), "{status:?}");
    let live = server.get(pod, "/livez").await?;
    assert_eq!((live.status, live.text.as_str()), (200, "ok\n"));
    Ok(())
}

async fn assert_lives_ready(server: &Server<'_>, pod: &Pod) -> Result<(), Error> {
    let ready = server.pod_that("the pod runs and is ready", is_ready).await?;
    let status = container_status(&ready, SERVER).unwrap();
    assert_eq!((status.restart_count, status.ready), (0, true), "{status:?}");
    let live = server.get(pod, "/livez").await?;
    assert_eq!((live.status, live.text.as_str()), (200, "ok\n"));
    Ok(())
}

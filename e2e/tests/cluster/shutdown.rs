use futures_util::future::try_join_all;
use hyper::Method;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::api::{DeleteParams, Patch, PatchParams};
use ragengine_e2e::forward::Reply;
use ragengine_e2e::namespace::in_namespace;
use ragengine_e2e::pod::{container_status, describe};
use ragengine_e2e::server::{SERVER, Server, Volume, documents, question, retrieval};
use ragengine_e2e::{Error, logs, wait};
use serde_json::{Value, json};
use tokio::sync::oneshot;

/// Keeps a pod after its end, so that the test can read its status.
const FINALIZER: &str = "ragengine.io/e2e-reads-the-end";

#[tokio::test]
async fn requests_that_run_get_their_answers_after_sigterm() {
    in_namespace("drains", async |namespace| {
        let server = Server::start(namespace, Volume::Claim).await?;
        let pod = server.ready_pod().await?;
        let name = pod.metadata.name.clone().unwrap();
        let moon = [("moon", "The moon orbits the earth in about 27 days.")];
        server.post(&pod, "/index", &documents("docs", &moon)).await?.ok()?;
        set_finalizers(&server, &name, &[FINALIZER]).await?;

        let requests = [
            ("/index", documents("docs", &[("sun", "The sun is a star.")])),
            ("/retrieve", retrieval("docs", "How long is a month?")),
            ("/v1/chat/completions", question("docs", "How long does the moon take to orbit the earth?")),
        ];
        let mut running = Vec::new();
        let mut send_rest = Vec::new();
        for (path, body) in &requests {
            let mut connection = server.connect(&pod).await?;
            let (sender, receiver) = oneshot::channel();
            send_rest.push(sender);
            running.push(async move { connection.send_in_halves(path, body, receiver).await });
        }
        let stop = async {
            wait_until_running(&server, &pod, requests.len()).await?;
            let killed_at = delete(&server, &name).await?;
            wait_until_stopping(&server, &name).await?;
            // The requests end when the senders are dropped.
            drop(send_rest);
            Ok::<_, Error>(killed_at)
        };
        let (replies, killed_at) = tokio::try_join!(try_join_all(running), stop)?;
        assert_answered(&replies)?;

        let ended = wait::until_object(server.pods(), &name, "the pod's program has ended", |pod| {
            let state = container_status(pod, SERVER).and_then(|status| status.state.clone());
            state.and_then(|state| state.terminated).ok_or_else(|| describe(pod))
        });
        let ended = ended.await?;
        assert_eq!(ended.exit_code, 0, "{ended:?}");
        assert!(ended.finished_at.as_ref().unwrap() < &killed_at, "{ended:?}, {killed_at:?}");
        set_finalizers(&server, &name, &[]).await?;

        let next = server.pod_that("another pod of the server is ready", |other| {
            ragengine_e2e::pod::is_ready(other) && other.metadata.uid != pod.metadata.uid
        });
        // Writes that were acknowledged during the shutdown are stored.
        let kept = server.get(&next.await?, "/indexes/docs").await?.ok()?;
        assert_eq!(kept["documents"], 2, "{kept}");
        Ok(())
    })
    .await;
}

/// Deletes the pod and returns the end of its grace period. The time must be read now: after the program has ended, the
/// kubelet deletes the pod again, with a grace period of zero, and overwrites the field.
async fn delete(server: &Server<'_>, pod: &str) -> Result<Time, Error> {
    let deleting = server.pods().delete(pod, &DeleteParams::default()).await;
    let deleted = deleting.map_err(Error::kubernetes("deleting the pod"))?;
    let pod = deleted.left().expect("the pod is still there: it has a finalizer");
    Ok(pod.metadata.deletion_timestamp.expect("a pod that is being deleted says until when"))
}

fn assert_answered(replies: &[Reply]) -> Result<(), Error> {
    let [added, found, answered] = replies else { panic!("{replies:?}") };
    assert_eq!(added.ok()?[0]["doc_id"], "sun", "{added:?}");
    assert_eq!(found.ok()?["results"][0]["doc_id"], "moon", "{found:?}");
    let content: Value = answered.ok()?["choices"][0]["message"]["content"].clone();
    assert!(content.as_str().unwrap().contains("27 days"), "{answered:?}");
    Ok(())
}

/// Waits until this number of requests is in flight, without the metrics request itself.
async fn wait_until_running(server: &Server<'_>, pod: &Pod, requests: usize) -> Result<(), Error> {
    let wanted = format!("ragengine_http_requests_in_flight {}", requests + 1);
    let mut connection = server.connect(pod).await?;
    wait::until(&wanted, async || {
        let reply = connection.send(Method::GET, "/metrics", None).await.map_err(|error| error.to_string())?;
        let in_flight = reply.text.lines().find(|line| line.starts_with("ragengine_http_requests_in_flight "));
        if in_flight == Some(&wanted) { Ok(()) } else { Err(format!("{in_flight:?}")) }
    })
    .await
}

/// Waits until the server logs that it is stopping.
async fn wait_until_stopping(server: &Server<'_>, pod: &str) -> Result<(), Error> {
    wait::until("the server stops", async || {
        let text = logs::of(server.pods(), pod, SERVER).await.map_err(|error| error.to_string())?;
        if text.contains("stopping: no new connections") { Ok(()) } else { Err(text) }
    })
    .await
}

async fn set_finalizers(server: &Server<'_>, pod: &str, finalizers: &[&str]) -> Result<(), Error> {
    let patch = json!({"metadata": {"finalizers": finalizers}});
    let patching = server.pods().patch(pod, &PatchParams::default(), &Patch::Merge(&patch)).await;
    patching.map(drop).map_err(Error::kubernetes("setting the pod's finalizers"))
}

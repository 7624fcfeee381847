use std::cell::Cell;
use std::collections::BTreeSet;

use futures_util::future::try_join_all;
use hyper::Method;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::jiff::Timestamp;
use kube::api::DeleteParams;
use ragengine_e2e::namespace::{PodSecurity, in_namespace};
use ragengine_e2e::pod::{container_status, is_ready};
use ragengine_e2e::server::{SERVER, Server, Volume, documents, retrieval};
use ragengine_e2e::skip::skip;
use ragengine_e2e::{Error, cluster_client};
use tokio::sync::watch;

const INDEX: &str = "kept";

#[tokio::test]
async fn an_index_outlives_its_pod() {
    in_namespace("outlives", async |namespace| {
        let server = Server::start(namespace, Volume::Claim).await?;
        let pod = server.ready_pod().await?;
        let moon = [("moon", "The moon orbits the earth in about 27 days.")];
        server.post(&pod, "/index", &documents(INDEX, &moon)).await?.ok()?;
        let before = server.get(&pod, &format!("/indexes/{INDEX}")).await?.ok()?;

        let name = pod.metadata.name.as_deref().unwrap();
        let deleting = server.pods().delete(name, &DeleteParams::default()).await;
        deleting.map_err(Error::kubernetes("deleting the pod"))?;
        let next = server.pod_that("another pod of the server is ready", |other| {
            is_ready(other) && other.metadata.uid != pod.metadata.uid
        });
        let next = next.await?;
        assert_eq!(server.get(&next, &format!("/indexes/{INDEX}")).await?.ok()?, before);
        let found = server.post(&next, "/retrieve", &retrieval(INDEX, "How long is a month?")).await?.ok()?;
        assert_eq!(
            (&found["results"][0]["doc_id"], &found["results"][0]["text"]),
            (&moon[0].0.into(), &moon[0].1.into())
        );
        Ok(())
    })
    .await;
}

/// The number of concurrent writers. At any moment each of them waits for an acknowledgement.
const WRITERS: usize = 3;
/// The number of acknowledged documents before the kill.
const BEFORE_KILL: usize = 20;
/// The limit of documents per writer. A writer that reaches it was not interrupted.
const MAX_WRITTEN: usize = 100_000;

#[tokio::test]
async fn what_was_acknowledged_outlives_a_kill_by_the_node() {
    in_namespace("killed", async |namespace| {
        let node = namespace.beside("node", PodSecurity::Privileged).await?;
        if let Some(reason) = cluster_client::why_not_kill(&node).await? {
            skip("what_was_acknowledged_outlives_a_kill_by_the_node", &reason);
            return Ok(());
        }
        let server = Server::start(namespace, Volume::Claim).await?;
        let pod = server.ready_pod().await?;
        let acknowledged = watch::Sender::new(BTreeSet::new());
        let kill_is_asked_for = Cell::new(false);
        let kill = async {
            // The writers end when the server is killed.
            drop(acknowledged.subscribe().wait_for(|documents| documents.len() >= BEFORE_KILL).await);
            kill_is_asked_for.set(true);
            cluster_client::kill(&node, &pod, SERVER).await
        };
        let writing = write_until_killed(&server, &pod, &acknowledged, &kill_is_asked_for);
        let (interrupted_at, ()) = tokio::try_join!(writing, kill)?;

        let restarted = server.pod_that("the killed server is ready again", |other| {
            let status = container_status(other, SERVER);
            other.metadata.uid == pod.metadata.uid
                && is_ready(other)
                && status.is_some_and(|status| status.restart_count > 0)
        });
        let restarted = restarted.await?;
        let last_state = container_status(&restarted, SERVER).unwrap().last_state.clone().unwrap();
        let killed = last_state.terminated.unwrap();
        assert_eq!(killed.exit_code, 128 + 9);
        // The cluster reports times in whole seconds.
        let killed_at = killed.finished_at.unwrap().0.as_second();
        assert!(
            interrupted_at.iter().any(|time| time.as_second() >= killed_at),
            "no write was interrupted by the kill: the writers ended at {interrupted_at:?}, the server at {killed_at}"
        );

        let acknowledged = acknowledged.borrow().clone();
        let kept = all_documents(&server, &restarted).await?;
        let lost: Vec<&String> = acknowledged.difference(&kept).collect();
        assert!(lost.is_empty(), "acknowledged and lost: {lost:?}; {} are there", kept.len());
        // One write of each writer may be stored without an acknowledgement.
        assert!(kept.len() <= acknowledged.len() + WRITERS, "{} of {}", kept.len(), acknowledged.len());
        let last = acknowledged.last().unwrap();
        let found = server.post(&restarted, "/retrieve", &retrieval(INDEX, &text(last))).await?.ok()?;
        assert_eq!(found["results"][0]["doc_id"], **last, "{found}");
        server.post(&restarted, "/index", &documents(INDEX, &[("after", "Written after the kill.")])).await?.ok()?;
        Ok(())
    })
    .await;
}

type Acknowledged = watch::Sender<BTreeSet<String>>;

/// Writes documents until the server is gone, and collects the ids of the acknowledged ones. Returns the time at which
/// the last write of each writer was interrupted. An interruption without a kill is an error.
async fn write_until_killed(
    server: &Server<'_>,
    pod: &Pod,
    acknowledged: &Acknowledged,
    kill_is_asked_for: &Cell<bool>,
) -> Result<Vec<Timestamp>, Error> {
    let writers = (0..WRITERS).map(async |writer| {
        let mut connection = server.connect(pod).await?;
        for number in 0..MAX_WRITTEN {
            let doc_id = format!("{number:06}-{writer}");
            let body = documents(INDEX, &[(&doc_id, &text(&doc_id))]);
            match connection.send(Method::POST, "/index", Some(&body)).await {
                Ok(reply) => drop(reply.ok()?),
                Err(_) if kill_is_asked_for.get() => return Ok(Timestamp::now()),
                Err(error) => return Err(error),
            }
            acknowledged.send_modify(|documents| documents.extend([doc_id]));
        }
        Err(Error::Unexpected(format!("nothing interrupted a writer of {MAX_WRITTEN} documents")))
    });
    try_join_all(writers).await
}

fn text(doc_id: &str) -> String {
    format!("Entry {doc_id} of the ship's log: nothing in sight.")
}

/// Returns the ids of all documents. Their texts must be those that were sent.
async fn all_documents(server: &Server<'_>, pod: &Pod) -> Result<BTreeSet<String>, Error> {
    let mut kept = BTreeSet::new();
    let mut connection = server.connect(pod).await?;
    for offset in (0..MAX_WRITTEN).step_by(100) {
        let path = format!("/indexes/{INDEX}/documents?limit=100&offset={offset}");
        let page = connection.send(Method::GET, &path, None).await?.ok()?;
        let documents = page["documents"].as_array().unwrap();
        for document in documents {
            let doc_id = document["doc_id"].as_str().unwrap();
            assert_eq!(document["text"], text(doc_id));
            kept.insert(doc_id.to_owned());
        }
        if documents.len() < 100 {
            break;
        }
    }
    Ok(kept)
}
